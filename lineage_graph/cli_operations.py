"""Commands that look after what is kept: proving it, making the graph again, backups, dead letters."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from lineage_graph.cli import SOME_REFUSED, failures, folder_of, main, opened, options, store_of
from lineage_graph.errors import BadRequest
from lineage_graph.settings import settings
from lineage_graph.tables import counted, escaped, show, table

if TYPE_CHECKING:
    from lineage_graph.asking import Server
    from lineage_graph.backups import Copied
    from lineage_graph.checking import Report
    from lineage_graph.graph import LineageGraph
    from lineage_graph.journal import Journal

_GREATEST = 2**63 - 1
DIFFERENT = 1
"""Exit code of a check that found something wrong."""


@contextmanager
def _progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, nothing elsewhere; entering gives the function that moves it."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def _unmerged(data: Path | None, store: str | None) -> Iterator[LineageGraph]:
    """The graph that options and settings name, as the store has it: nothing is merged yet."""
    from lineage_graph.graph import LineageGraph
    from lineage_graph.journal import Journal
    from lineage_graph.store import open_store

    folder = folder_of(data, must_exist=True)
    uri, access = store_of(store)
    with Journal.open(folder) as journal, LineageGraph(journal, open_store(uri, journal, folder, **access)) as graph:
        yield graph


@main.command()
@click.option("--repair", is_flag=True, help="Make the graph again where it differs.")
@options("data", "store")
def check(repair: bool, data: Path | None, store: str | None) -> None:
    """Prove that every event is kept as it came, and that the graph is what the events say.

    Exit code 0 when it is, 1 when not. A damaged journal can't be repaired: restore a backup.

    Example: lineage-graph check --repair
    """
    with failures(), _unmerged(data, store) as graph:
        damage = graph.journal.damage()
        if damage:
            for sentence in damage:
                click.echo(escaped(sentence))
            click.echo(f"the journal in {graph.journal.place} is damaged; restore a backup into another folder")
            sys.exit(DIFFERENT)
        _refuse_others(graph, "a check compares it with one")
        is_later = graph.store.applied > graph.journal.last_offset
        if is_later:
            click.echo(
                f"the graph holds the journal's events up to offset {graph.store.applied}, but it ends at "
                f"{graph.journal.last_offset}: it is an older copy"
            )
        report = None if is_later else _checked(graph)
        if repair and (report is None or report.different):
            with _progress("merging", graph.journal.last_offset) as tell:
                graph.rebuild(tell)
            click.echo("the graph was made again")
            report = _checked(graph)
    if report is None or report.different:
        click.echo("lineage-graph check --repair makes the graph again")
        sys.exit(DIFFERENT)
    click.echo(
        f"{counted(report.events, 'event')} whole, and the graph is what they say: "
        f"{counted(report.nodes, 'node')}, {counted(report.relationships, 'relationship')}"
    )


def _checked(graph: LineageGraph) -> Report:
    """A check, with what it found wrong printed."""
    from lineage_graph import checking

    with _progress("merging", graph.journal.last_offset) as tell:
        graph.catch_up(tell)
    with _progress("reading", graph.journal.last_offset) as tell:
        report = checking.check(graph, tell)
    for difference in report.first:
        click.echo(escaped(f"{difference.what}: {difference.how}"))
    if report.different:
        click.echo(f"nodes and relationships that are not as the journal says: {report.different}")
    return report


def _refuse_others(graph: LineageGraph, reason: str) -> None:
    others = graph.store.other_journals()
    if others:
        named = ", ".join(f"{journal} up to offset {applied}" for journal, applied in sorted(others.items()))
        raise BadRequest(
            "--store",
            f"names a database that other journals have merged into ({named}); {reason}. Where those journals are no "
            "more, `lineage-graph rebuild --all-journals` leaves only this one",
        )


@main.command()
@click.option("--all-journals", is_flag=True, help="Drop what other journals have merged into the database, too.")
@options("data", "store")
def rebuild(all_journals: bool, data: Path | None, store: str | None) -> None:
    """Drop the graph and make it again from the journal. Cut short, it goes on at the next start.

    Example: lineage-graph rebuild --store bolt://127.0.0.1:7687
    """
    with failures(), _unmerged(data, store) as graph:
        if not all_journals:
            _refuse_others(graph, "a rebuild would drop what they merged")
        with _progress("merging", graph.journal.last_offset) as tell:
            merged = graph.rebuild(tell)
    click.echo(f"the graph was made again from {counted(merged, 'event')}")


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE.")
@options("data")
def backup(file: Path, force: bool, data: Path | None) -> None:
    """Copy the journal into FILE, whether a server runs on the folder or not.

    Events and dead letters are in it; the graph is made of them. The copy is proven before it takes its place.

    Example: lineage-graph backup lineage-backup.sqlite
    """
    from lineage_graph import backups

    with failures():
        copied = backups.backup(folder_of(data), file, force)
    click.echo(f"{_told(copied)} in {escaped(str(file))}, {copied.bytes:,} bytes")


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@options("data")
def restore(file: Path, data: Path | None) -> None:
    """Put the backup FILE into a data folder that holds no events.

    Example: lineage-graph restore lineage-backup.sqlite --data restored
    """
    from lineage_graph import backups

    with failures():
        folder = folder_of(data)
        copied = backups.restore(file, folder)
    click.echo(f"{_told(copied)} in {escaped(str(folder))}; the graph is made at the next start")
    if store_of(None)[0]:
        click.echo("a Neo4j that holds a later graph: lineage-graph rebuild --all-journals")


def _told(copied: Copied) -> str:
    return f"{counted(copied.events, 'event')} and {counted(copied.dead_letters, 'dead letter')}"


@main.group("dead-letters")
def dead_letters() -> None:
    """What came and was no event: look at it, and try it again.

    Example: lineage-graph dead-letters list
    """


@dead_letters.command("list")
@click.option("--limit", type=click.IntRange(1, 1_000), default=100, show_default=True, help="At most so many.")
@click.option("--after", type=click.IntRange(0, _GREATEST), default=0, help="Only those with a greater id.")
@options("data", "url", "json")
def list_letters(limit: int, after: int, data: Path | None, url: str | None, as_json: bool) -> None:
    """Which they are, and why each was refused.

    Example: lineage-graph dead-letters list --limit 20
    """
    from lineage_graph.dead_letters import page_of

    with failures():
        server = _server(data, url)
        if server:
            answer = server.request("GET", "/api/v1/dead-letters", params={"limit": limit, "after": after})
        else:
            with _journal(data) as journal:
                answer = page_of(journal, after, limit)
    if as_json:
        click.echo(json.dumps(answer))
        return
    columns = ("id", "received", "source", "path", "reason")
    rows = [item | {"received": f"{item['received'][:19]}Z"} for item in answer["items"]]
    parts = [table(columns, ([str(row[name]) for name in columns] for row in rows))]
    more = f"; the next ones: --after {answer['next']}" if answer["next"] else ""
    shown = f"{len(answer['items'])} of {counted(answer['total'], 'dead letter')}{more}"
    show(Console(), *(parts if rows else []), shown)


@dead_letters.command("show")
@click.argument("id", type=click.IntRange(1, _GREATEST))
@options("data", "url")
def show_letter(id: int, data: Path | None, url: str | None) -> None:
    """The body of a dead letter, byte for byte as it came; up to 1 MiB of it was kept.

    Example: lineage-graph dead-letters show 7
    """
    from lineage_graph.dead_letters import letter_of

    with failures():
        server = _server(data, url)
        if server:
            body = server.content(f"/api/v1/dead-letters/{id}")
        else:
            with _journal(data) as journal:
                body = letter_of(journal, id).body
    sys.stdout.buffer.write(body)


@dead_letters.command("retry")
@click.argument("ids", nargs=-1, type=click.IntRange(1, _GREATEST), metavar="[ID]...")
@click.option("--all", "every", is_flag=True, help="All of them.")
@options("data", "store")
def retry_letters(ids: tuple[int, ...], every: bool, data: Path | None, store: str | None) -> None:
    """Try dead letters again, as after an update: those that are events now are taken and leave the list.

    No server may run on the folder. Exit code 0 when all were taken, 3 when some stay.

    Example: lineage-graph dead-letters retry --all
    """
    from lineage_graph.dead_letters import retry

    with failures():
        if bool(ids) == every:
            raise BadRequest("ID", "is needed, one or more, or --all in their place")
        with opened(data, store, must_exist=True) as graph:
            taken, stay = retry(graph, None if every else ids)
    click.echo(f"{counted(taken, 'event')} taken, {counted(stay, 'dead letter')} left as before")
    sys.exit(SOME_REFUSED if stay else 0)


def _server(data: Path | None, url: str | None) -> Server | None:
    """The server to ask, if not a folder."""
    from lineage_graph.asking import Server

    address = url or (None if data else settings().get("url"))
    return Server(address) if address else None


def _journal(data: Path | None) -> Journal:
    from lineage_graph.journal import Journal

    return Journal.open(folder_of(data, must_exist=True))
