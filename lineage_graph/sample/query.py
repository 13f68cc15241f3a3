"""Reads the notation of :mod:`lineage_graph.sample.tables`: names, columns, SQL text and column lineage.

No SQL parser: it knows just the forms that the sample's own queries take.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from lineage_graph.sample.tables import TABLES, Table


class System(NamedTuple):
    """Where datasets live, and how events and SQL name them: ``{}`` stands for the short name."""

    namespace: str
    name: str
    sql: str
    type: str = "TABLE"


_LAKE = "s3://shop-lake"


def _warehouse(name: str) -> System:
    return System("snowflake://shop-eu", name, name)


SYSTEMS = {
    "pg": System("postgres://db.shop.example:5432", "shop.public.{}", "public.{}"),
    "kafka": System("kafka://broker.shop.example:9092", "{}", "{}", "TOPIC"),
    "raw": System(_LAKE, "raw/{}", f"parquet.`{_LAKE}/raw/{{}}`", "FILE"),
    "lake": System(_LAKE, "lake/{}", "lake.{}"),
    "glue": System("arn:aws:glue:eu-central-1:123456789012", "table/lake/{}", "lake.{}"),
    "wh": _warehouse("analytics.raw.{}"),
    "tmp": _warehouse("analytics.scratch.{}"),
    "stg": _warehouse("analytics.staging.stg_{}"),
    "int": _warehouse("analytics.intermediate.int_{}"),
    "mart": _warehouse("analytics.marts.{}"),
    "ml": _warehouse("analytics.ml.{}"),
    "model": System(_LAKE, "models/{}", "", "MODEL"),
    "bi": System("superset://bi.shop.example", "dashboard/{}", "", "DASHBOARD"),
    "crm": System("salesforce://shop.my.salesforce.example", "{}", ""),
}
"""``glue`` is how the catalogue names the tables of ``lake``, written by path and read by this name."""

RELEASE, RENAME = 7, 4
"""Days before the last night at which release 2.0 went live, and at which a table was renamed."""

_CLAUSES = {
    "from": "",
    "join": "JOIN",
    "left join": "JOIN",
    "cross join": "JOIN",
    "where": "FILTER",
    "group by": "GROUP_BY",
    "order by": "SORT",
}
_CLAUSE = re.compile("|".join(_CLAUSES))
_READ = re.compile(r"\{([\w.-]+)\}(?: (\w+))?")
_COLUMN = re.compile(r"\b([a-z])\.([a-z_]\w*(?:\.\w+)*)")
_AGGREGATE = re.compile(r"\b(sum|count|min|max|avg)\(")


class Column(NamedTuple):
    name: str
    type: str
    expression: str
    description: str
    personal: bool


class Source(NamedTuple):
    """One column that a column, or a whole table, is made from."""

    table: str
    field: str
    type: str
    subtype: str
    masking: bool = False


class Identifier(NamedTuple):
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Query:
    """A table at one time: its columns and the query behind them, if one is known."""

    columns: tuple[Column, ...]
    clauses: tuple[str, ...]

    @property
    def reads(self) -> dict[str, str]:
        """Keys of the tables read, by alias, in the order of the query."""
        return {alias or key: key for clause in self.clauses for key, alias in _READ.findall(clause)}

    def sql(self, age: int) -> str:
        """The SELECT, with tables named as the engine knows them ``age`` days before the last night."""
        selected = [
            column.expression
            if column.expression.endswith(f".{column.name}")
            else f"{column.expression} as {column.name}"
            for column in self.columns
            if "." not in column.name
        ]
        tail = "\n".join(self.clauses)
        return "select\n    " + ",\n    ".join(selected) + "\n" + _READ.sub(lambda m: _in_sql(m, age), tail)

    def fields(self) -> dict[str, list[Source]]:
        """What each column is made from; empty when the table comes from no query."""
        return {column.name: list(self._of_expression(column.expression)) for column in self.columns if self.clauses}

    def whole(self) -> list[Source]:
        """What decides which rows there are: indirect sources of the table as a whole."""
        return [
            source
            for clause in self.clauses
            if (subtype := _CLAUSES[_keyword(clause)])
            for source in self._sources(clause, "INDIRECT", subtype)
        ]

    def _of_expression(self, expression: str) -> Iterator[Source]:
        value = expression
        for pattern, subtype in ((r"over \((.*)\)", "WINDOW"), (r"when (.*?) then", "CONDITIONAL")):
            for part in re.findall(pattern, expression):
                yield from self._sources(part, "INDIRECT", subtype)
            value = re.sub(pattern, "", value)
        if _COLUMN.fullmatch(value):
            subtype = "IDENTITY"
        else:
            subtype = "AGGREGATION" if _AGGREGATE.search(value) else "TRANSFORMATION"
        yield from self._sources(value, "DIRECT", subtype, masking="sha2(" in value or "count(" in value)

    def _sources(self, text: str, type: str, subtype: str, masking: bool = False) -> Iterator[Source]:
        for alias, field in dict.fromkeys(_COLUMN.findall(text)):
            yield Source(self.reads[alias], field, type, subtype, masking)


def dataset(key: str, age: int = 0) -> Identifier:
    """Namespace and name of a table, ``age`` days before the last night."""
    system, short = _short_name(key, age)
    return Identifier(SYSTEMS[system].namespace, SYSTEMS[system].name.format(short))


def stored(key: str) -> str:
    """The key by which a table is written: the catalogue only names tables of the lake."""
    return key.replace("glue.", "lake.")


def table(key: str) -> Table:
    """The table behind a key."""
    return TABLES[stored(key)]


def query(key: str, age: int = 0) -> Query:
    """The columns and query of a table, ``age`` days before the last night."""
    return _read(key, age <= RELEASE)


def _short_name(key: str, age: int) -> tuple[str, str]:
    system, _, short = key.partition(".")
    return system, table(key).former if table(key).former and age > RENAME else short


def _in_sql(read: re.Match[str], age: int) -> str:
    system, short = _short_name(read[1], age)
    return f"{SYSTEMS[system].sql.format(short)} {read[2] or ''}".rstrip()


def _keyword(line: str) -> str:
    match = _CLAUSE.match(line)
    return match[0] if match else ""


@cache
def _read(key: str, released: bool) -> Query:
    lines = []
    for line in map(str.strip, table(key).text.strip().splitlines()[1:]):
        if not line.startswith("- " if released else "+ "):
            lines.append(line.removeprefix("- ").removeprefix("+ "))
    clauses = tuple(line for line in lines if _keyword(line))
    aliases = Query((), clauses).reads
    columns: dict[str, Column] = {}
    for line in lines[: len(lines) - len(clauses)]:
        row, _, description = line.partition(" -- ")
        name, type_, expression = [*map(str.strip, row.split("|", 2)), ""][:3]
        bare = name.rstrip("!")
        struct = columns.get(bare.rpartition(".")[0])
        if struct and struct.expression:
            expression = f"{struct.expression}.{bare.rpartition('.')[2]}"
        if not description and (passed_on := _COLUMN.fullmatch(expression)):
            source = _read(aliases[passed_on[1]], released)
            description = next(column.description for column in source.columns if column.name == passed_on[2])
        columns[bare] = Column(bare, type_, expression, description, bare != name)
    return Query(tuple(columns.values()), clauses)
