"""The repository's pages point at what exists. Links between pages of `docs/` are the site's build to check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted({*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("[!.]*/README.md")})
# They tell what was, so they may name files that are gone.
HISTORY = {ROOT / "CHANGELOG.md", *DOCS.glob("decisions/*.md")}
FOLDERS = ("api", "bench", "cypher", "deploy", "docs", "examples", "lineage_graph", "loaders", "tests", "ui")
FILE = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w*./-]*\.\w+")


def tokens(page: Path) -> Iterator[Token]:
    for block in MarkdownIt("commonmark").enable("table").parse(page.read_text()):
        yield from block.children or (block,)


def targets(page: Path) -> Iterator[str]:
    for token in tokens(page):
        target = token.attrs.get("href") or token.attrs.get("src")
        if target and not re.match(r"[a-z][a-z0-9+.-]*:", str(target)):
            yield unquote(str(target))


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub and GitLab make them."""
    blocks = MarkdownIt("commonmark").enable("table").parse(page.read_text())
    titles = [after.content for block, after in pairwise(blocks) if block.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file_and_heading(page: Path) -> None:
    broken = []
    for target in targets(page):
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        inside = DOCS if page.is_relative_to(DOCS) else ROOT
        unknown_anchor = anchor and file.suffix == ".md" and inside == ROOT and file.exists()
        if not file.exists() or not file.is_relative_to(inside) or (unknown_anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", sorted(set(PAGES) - HISTORY), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_named_in_code_type_exists(page: Path) -> None:
    named = [token.content for token in tokens(page) if token.type == "code_inline"]
    assert [name for name in named if FILE.fullmatch(name) and not list(ROOT.glob(name))] == []
