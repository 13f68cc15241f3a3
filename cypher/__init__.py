"""The Cypher library: every query of the product lives in a ``.cypher`` file beside this one.

A file begins with a header of comment lines: the title, what the query does in a sentence or two, then

- ``param NAME TYPE: meaning`` for each parameter,
- ``returns NAME: meaning`` for each column, in order.

Loading checks header against text both ways, so a query can't drift from its description.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_PARAMETER = re.compile(r"\$([A-Za-z_]\w*)")
_PARAM = re.compile(r"param (\w+) ([A-Z<>]+): (.+)")
_RETURNS = re.compile(r"returns (\w+): (.+)")
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_COLUMN = re.compile(r"(?:\bAS\s+)?(\w+)\s*$", re.IGNORECASE)


class MalformedQuery(ValueError):
    """A query file whose header and text disagree. The text names the file and what to mend."""


@dataclass(frozen=True)
class Query:
    name: str
    title: str
    description: str
    parameters: dict[str, str]
    """Name -> type in Cypher's words."""
    columns: tuple[str, ...]
    text: str

    @property
    def statements(self) -> list[str]:
        """The file's statements; all but the schema hold one."""
        return [part.strip() for part in self.text.split(";") if part.strip()]

    @property
    def gathered(self) -> str:
        """The query with all of its rows in one, a list named ``rows`` of lists: a driver spends more on a record than
        on what is in it."""
        return f"CALL {{\n{self.text}\n}}\nRETURN collect([{', '.join(self.columns)}]) AS rows"


@cache
def query(name: str) -> Query:
    """The query in ``<name>.cypher``. Raises :class:`MalformedQuery`, and ``FileNotFoundError`` for no such file."""
    return read_query(name, (files(__package__) / f"{name}.cypher").read_text(encoding="utf-8"))


def names() -> list[str]:
    """Names of all queries, sorted."""
    return sorted(
        entry.name.removesuffix(".cypher") for entry in files(__package__).iterdir() if entry.name.endswith(".cypher")
    )


def read_query(name: str, source: str) -> Query:
    """Split a file's source into header and text, and check one against the other."""
    header: list[str] = []
    body: list[str] = []
    for line in source.split("\n"):
        (body if body or not line.startswith("//") else header).append(line)
    text = "\n".join(body).strip()
    words = [line.removeprefix("//").strip() for line in header]
    if not words or not words[0]:
        raise MalformedQuery(f"{name}.cypher: the first line must be a comment with the title")
    parameters, columns, prose = {}, [], []
    for line in words[1:]:
        if match := _PARAM.fullmatch(line):
            parameters[match[1]] = match[2]
        elif match := _RETURNS.fullmatch(line):
            columns.append(match[1])
        else:
            prose.append(line)
    used = set(_PARAMETER.findall(_STRING.sub("''", text)))
    if used != parameters.keys():
        raise MalformedQuery(
            f"{name}.cypher: parameters in the text {sorted(used)} are not those of the header {sorted(parameters)}"
        )
    if (found := _returned(text)) != columns:
        raise MalformedQuery(f"{name}.cypher: columns returned {found} are not those of the header {columns}")
    return Query(name, words[0], "\n".join(prose).strip(), parameters, tuple(columns), text)


def _returned(text: str) -> list[str]:
    """Columns of the last RETURN."""
    parts = re.split(r"\bRETURN\b(?:\s+DISTINCT\b)?", text)
    if len(parts) == 1:
        return []
    listed = re.split(r"\b(?:ORDER BY|SKIP|LIMIT)\b", parts[-1])[0]
    columns, depth, start = [], 0, 0
    for at, character in enumerate(listed + ","):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0:
            columns.append(listed[start:at].strip())
            start = at + 1
    return [match[1] for column in columns if (match := _COLUMN.search(column))]
