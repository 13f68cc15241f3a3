"""The command line: ``lineage-graph``."""

from __future__ import annotations

import gc
import json
import logging
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.console import Console

from lineage_graph.cli_tables import graph_parts, paths_parts, search_parts, write_hits, write_items, write_steps
from lineage_graph.errors import (
    Ambiguous,
    BadRequest,
    InvalidEvent,
    JournalError,
    LineageError,
    NotFound,
    StoreUnavailable,
)
from lineage_graph.settings import settings
from lineage_graph.tables import escaped, footer, items_table, show

if TYPE_CHECKING:
    from lineage_graph.asking import Parameters, Target
    from lineage_graph.graph import LineageGraph

EXIT_CODES: dict[type[LineageError], int] = {
    BadRequest: 2,
    Ambiguous: 2,
    InvalidEvent: 3,
    NotFound: 4,
    JournalError: 5,
    StoreUnavailable: 5,
}
SOME_REFUSED = 3
"""Exit code of a load that took some events and refused others."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def failures() -> Iterator[None]:
    """Errors of the product as a sentence on standard error and an exit code."""
    try:
        yield
    except LineageError as error:
        failure = click.ClickException(escaped(str(error)))
        failure.exit_code = EXIT_CODES[type(error)]  # type: ignore[misc]  # click reads it from the instance
        raise failure from error


def options(*names: str) -> Callable[[F], F]:
    """Shared options, by name."""
    return lambda function: _with(function, *(_OPTIONS[name] for name in names))


def _with(function: F, *decorators: Callable[[F], F]) -> F:
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


_OPTIONS: dict[str, Callable[[F], F]] = {
    "data": click.option("--data", type=click.Path(path_type=Path), help="Data folder.  [default: lineage-data]"),
    "store": click.option("--store", help="bolt://… or neo4j://… of a Neo4j.  [default: embedded]"),
    "url": click.option("--url", help="Ask a running server instead of opening a data folder."),
    "json": click.option("--json", "as_json", is_flag=True, help="Print the answer as HTTP gives it."),
    "csv": click.option("--csv", "as_csv", is_flag=True, help="Print the items as CSV."),
}


def opened(data: Path | None, store: str | None, must_exist: bool = False, wait_for_store: bool = True) -> LineageGraph:
    """The graph that options and settings name. With ``must_exist`` no folder is made to answer from nothing. A server
    does not wait for a database, which may hang: it takes events meanwhile."""
    from lineage_graph.graph import LineageGraph

    folder = folder_of(data, must_exist)
    uri, access = store_of(store)
    return LineageGraph.open(folder, uri, wait_for_store or not uri, **access)


def folder_of(data: Path | None, must_exist: bool = False) -> Path:
    """The data folder that options and settings name."""
    folder = data or Path(settings().get("data", "lineage-data"))
    if must_exist and not folder.exists():
        raise BadRequest("--data", f"names {folder}, which does not exist; load events, or ask a server with --url")
    return folder


def store_of(store: str | None) -> tuple[str | None, dict[str, str]]:
    """The store that options and settings name, with what it asks who comes."""
    held = settings()
    uri = store or held.get("store")
    access = {name: held[f"neo4j_{name}"] for name in ("user", "password") if f"neo4j_{name}" in held}
    return uri, access if uri else {}


@contextmanager
def target_of(given: Parameters) -> Iterator[Target]:
    """Where a question goes. Takes the options that say so out of those given; the others are the question's."""
    from lineage_graph.asking import Local, Server

    data, store, url = (given.pop(name) for name in ("data", "store", "url"))
    server = url or (None if data or store else settings().get("url"))
    if server:
        yield Server(server)
        return
    with opened(data, store, must_exist=True) as graph:
        yield Local(graph)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lineage-graph")
def main() -> None:
    """Lineage from OpenLineage events: load or receive them, and ask what depends on what.

    Example: lineage-graph demo
    """
    # Nearly all of a graph lives for ever, so looking through it for garbage nearly doubles the time of a load.
    gc.set_threshold(50_000, 20, 1_000)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")


@main.command()
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.  [default: 5000]")
@click.option("--unsafe-no-auth", is_flag=True, help="Listen on other than loopback although anyone may then read.")
@options("data", "store")
def serve(host: str | None, port: int | None, unsafe_no_auth: bool, data: Path | None, store: str | None) -> None:
    """Serve the API: take events, answer questions.

    Example: lineage-graph serve --data lineage-data --port 5000
    """
    with (
        failures(),
        listening_on(host, port, unsafe_no_auth) as listening,
        opened(data, store, wait_for_store=False) as graph,
    ):
        serve_graph(graph, listening)


def listening_on(host: str | None, port: int | None, unsafe_no_auth: bool = False) -> socket.socket:
    """A socket bound to the address that options and settings name, before any data is touched."""
    held = settings()
    address = host or held.get("host", "127.0.0.1")
    if address not in _LOOPBACK and not unsafe_no_auth:
        raise BadRequest(
            "--host",
            f"{address} would let anyone read and write; there is no access control yet. Use 127.0.0.1 behind a "
            "proxy that checks who asks, or say --unsafe-no-auth",
        )
    number = port if port is not None else _number(held.get("port", "5000"))
    listening = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, proto=socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, number))
    except OSError as error:
        listening.close()
        raise BadRequest("--port", f"{number} on {address} can't be had ({error.strerror}); give another") from error
    return listening


def url_of(listening: socket.socket) -> str:
    address, port = listening.getsockname()[:2]
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"


def serve_graph(graph: LineageGraph, listening: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C, after which the graph is the caller's to close."""
    import uvicorn

    from lineage_graph.api.app import create_app

    url = url_of(listening)

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            click.echo(f"lineage-graph serves {url} (API: /docs), Ctrl-C ends it")

    server = Server(uvicorn.Config(create_app(graph), log_level="warning", timeout_graceful_shutdown=10))

    def end(*_: object) -> None:
        server.should_exit = True

    # Uvicorn raises a signal again after its shutdown; the default action would leave the graph open.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    server.run(sockets=[listening])


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > 65535:
        raise BadRequest("port", f"is {text!r}; give a number from 0 to 65535")
    return int(text)


def question_options(function: F) -> F:
    return _with(
        function,
        click.argument("node", required=False),
        click.option("--namespace", help="With --name, in place of a node id."),
        click.option("--name", help="Name of the dataset or job."),
        click.option("--field", help="A column of the dataset."),
        click.option("--type", type=click.Choice(["dataset", "job"]), help="What --name stands for."),
        click.option("--depth", type=click.IntRange(min=0), help="Steps from dataset to dataset."),
        click.option("--nodes", type=click.IntRange(1, 1_000_000), help="Most nodes.  [default: 10000]"),
        scope_options,
    )


def scope_options(function: F) -> F:
    return _with(
        function,
        click.option("--all", "all", is_flag=True, help="Everything ever seen, not only what holds now."),
        click.option("--window", help="Also what successful runs reported this long before, such as P7D."),
    )


def end_options(end: str) -> Callable[[F], F]:
    """In place of the id of one end of a path."""
    return lambda function: _with(
        function,
        click.option(f"--{end}-namespace", help=f"With --{end}-name, in place of {end.upper()}."),
        click.option(f"--{end}-name", help="Name of the dataset or job."),
        click.option(f"--{end}-field", help="A column of the dataset."),
        click.option(f"--{end}-type", type=click.Choice(["dataset", "job"]), help=f"What --{end}-name stands for."),
    )


def page_options(function: F) -> F:
    return _with(
        function,
        click.option("--limit", type=click.IntRange(1, 10_000), help="Only a page of so many.  [default: all pages]"),
        click.option("--cursor", help="Only the page after the one that gave this."),
    )


def list_options(function: F) -> F:
    return _with(
        page_options(function),
        click.option("--only", multiple=True, type=click.Choice(["dataset", "job", "column"]), help="Only these."),
        click.option("--column-only/--no-column-only", default=None, help="List what only column lineage names."),
    )


@main.command()
@question_options
@list_options
@options("data", "store", "url", "json", "csv")
def impact(**given: Any) -> None:
    """What depends on NODE: every dataset, column and job downstream.

    Example: lineage-graph impact dataset:shop:orders
    """
    _ask("impact", given, "nothing depends on it")


@main.command()
@question_options
@list_options
@options("data", "store", "url", "json", "csv")
def upstream(**given: Any) -> None:
    """Where NODE comes from: every dataset, column and job upstream.

    Example: lineage-graph upstream --namespace shop --name report --field total
    """
    _ask("upstream", given, "it comes from nothing that is known")


def _ask(question: str, given: Parameters, nothing: str) -> None:
    from lineage_graph.asking import answer_to

    as_json, as_csv = given.pop("as_json"), given.pop("as_csv")
    with failures(), target_of(given) as target:
        answer = answer_to(target, question, given)
    if as_json:
        click.echo(json.dumps(answer))
    elif as_csv:
        write_items(answer["items"], sys.stdout)
    else:
        console = Console()
        parts = [items_table(answer["items"], console.width)] if answer["items"] else []
        show(console, *parts, *footer(answer, f"{answer['node']['id']}: {nothing}"))


@main.command()
@question_options
@click.option("--level", type=click.Choice(["dataset", "column"]), default="dataset", show_default=True)
@options("data", "store", "url", "json")
def graph(as_json: bool, **given: Any) -> None:
    """Nodes and edges around NODE, both ways.

    Example: lineage-graph graph dataset:shop:orders --depth 2 --json
    """
    with failures(), target_of(given) as target:
        answer = target.ask("graph", given)
    if as_json:
        click.echo(json.dumps(answer))
    else:
        show(Console(), *graph_parts(answer))


@main.command()
@click.argument("source", required=False)
@click.argument("target", required=False)
@end_options("source")
@end_options("target")
@click.option("--k", type=click.IntRange(1, 100), help="How many of the shortest.  [default: 5]")
@click.option(
    "--seconds", type=click.FloatRange(0, 60, min_open=True), help="Answer after so long at most.  [default: 5]"
)
@scope_options
@options("data", "store", "url", "json", "csv")
def paths(as_json: bool, as_csv: bool, **given: Any) -> None:
    """The shortest ways of the data from SOURCE to TARGET.

    Example: lineage-graph paths dataset:shop:orders dataset:shop:report
    """
    if given["source_name"] is not None and given["target"] is None:
        # The only id given beside --source-name is that of the target.
        given["source"], given["target"] = None, given["source"]
    with failures(), target_of(given) as target:
        answer = target.ask("paths", given)
    if as_json:
        click.echo(json.dumps(answer))
    elif as_csv:
        write_steps(answer["items"], sys.stdout)
    else:
        show(Console(), *paths_parts(answer))


@main.command()
@click.argument("text")
@click.option("--type", type=click.Choice(["dataset", "job"]), help="Only datasets, or only jobs.")
@click.option("--namespace", help="Only in this namespace.")
@page_options
@options("data", "store", "url", "json", "csv")
def search(text: str, as_json: bool, as_csv: bool, **given: Any) -> None:
    """Datasets and jobs whose name holds TEXT; case is ignored, _ and % stand for themselves.

    Example: lineage-graph search orders --type dataset
    """
    from lineage_graph.asking import answer_to

    with failures(), target_of(given) as target:
        answer = answer_to(target, "search", {"q": text} | given)
    if as_json:
        click.echo(json.dumps(answer))
    elif as_csv:
        write_hits(answer["items"], sys.stdout)
    else:
        show(Console(), *search_parts(answer, text))


@main.command()
@click.option(
    "--format",
    "as_format",
    type=click.Choice(["graphml", "json", "openlineage", "cypher"]),
    required=True,
    help="What to write.",
)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write.  [default: standard output]"
)
@options("data", "store")
def export(as_format: str, output: Path | None, data: Path | None, store: str | None) -> None:
    """Write the whole graph, or the events it was made from.

    Example: lineage-graph export --format graphml --output lineage.graphml
    """
    from lineage_graph import export as formats

    with failures(), opened(data, store, must_exist=True) as held:
        if as_format == "openlineage":
            parts: Iterator[bytes] = (
                event.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n" for event in held.events()
            )
        else:
            write = {"graphml": formats.graphml, "json": formats.node_link, "cypher": formats.cypher}[as_format]
            parts = (part.encode() for part in write(held.store.elements()))
        if output is None:
            sys.stdout.buffer.writelines(parts)
        else:
            try:
                with output.open("wb") as file:
                    file.writelines(parts)
            except OSError as error:
                raise BadRequest("--output", f"{output} can't be written: {error.strerror}") from error


@main.command()
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--format", "as_format", type=click.Choice(["auto"]), default="auto", show_default=True, help="Told by content."
)
@click.option("--strict", is_flag=True, help="Stop at the first that is no event.")
@options("data", "store", "url")
def load(
    paths: tuple[str, ...], as_format: str, strict: bool, data: Path | None, store: str | None, url: str | None
) -> None:
    """Load event dumps from PATHS: files (.json, .ndjson, .gz, .zst), folders, or - for standard input.

    What is no event is counted, named and kept among the dead letters; the rest goes on. Exit code 0 when all were
    taken, 3 when some were refused.

    Example: lineage-graph load dumps/ yesterday.ndjson.gz
    """
    from lineage_graph.loading import into_graph, into_server, load_dumps

    with failures():
        url = url or (None if data or store else settings().get("url"))
        if url:
            result = load_dumps(paths, into_server(url), strict)
        else:
            with opened(data, store) as held:
                result = load_dumps(paths, into_graph(held), strict)
    show(Console(), *result.report())
    sys.exit(result.exit_code)


@main.command()
@click.option("--port", type=click.IntRange(0, 65535), help="Port to serve on.  [default: 5000]")
@click.option("--no-serve", is_flag=True, help="Fill and answer, then end.")
@options("data", "store")
def demo(port: int | None, no_serve: bool, data: Path | None, store: str | None) -> None:
    """Fill an empty data folder with a sample pipeline, answer a question of each kind, then serve.

    Example: lineage-graph demo --data demo-data
    """
    from lineage_graph.demo import fill, tell

    with failures(), ExitStack() as stack:
        listening = None if no_serve else stack.enter_context(listening_on(None, port))
        held = stack.enter_context(opened(data, store))
        if not fill(held):
            click.echo(f"{held.journal.place} holds the demo already")
        where = f" --url {url_of(listening)}" if listening else f" --data {shlex.quote(str(data))}" if data else ""
        tell(held, Console(), where)
        if listening:
            serve_graph(held, listening)


# These take what is above, so they come last.
from lineage_graph import cli_operations  # noqa: E402, F401
