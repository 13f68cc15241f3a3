"""Looks into the events of the sample pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Key = tuple[str, str]


def runs(sample: list[Json], job: str) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for event in sample:
        if event.get("job", {}).get("name") == job and "run" in event:
            found.setdefault(event["run"]["runId"], []).append(event)
    return found


def key(dataset: Json) -> Key:
    return dataset["namespace"], dataset["name"]


def datasets(event: Json) -> Iterator[Json]:
    yield from event.get("inputs", [])
    yield from event.get("outputs", [])
    if "dataset" in event:
        yield event["dataset"]


def facets(event: Json) -> Iterator[tuple[str, Json]]:
    for entity in (event.get("run", {}), event.get("job", {}), *datasets(event)):
        for kind in ("facets", "inputFacets", "outputFacets"):
            yield from entity.get(kind, {}).items()


def paths(fields: list[Json], prefix: str = "") -> Iterator[str]:
    for field in fields:
        yield prefix + field["name"]
        yield from paths(field.get("fields", []), f"{prefix}{field['name']}.")


def columns(dataset: Json) -> set[str]:
    return set(paths(dataset["facets"].get("schema", {}).get("fields", [])))


def mapping(event: Json) -> Iterator[tuple[Json, str, Json]]:
    """Each (output, field, source) of the column lineage of an event; '' for the dataset as a whole."""
    for output in event.get("outputs", []):
        facet = output["facets"].get("columnLineage", {"fields": {}, "dataset": []})
        for field, entry in facet["fields"].items():
            for source in entry["inputFields"]:
                yield output, field, source
        for source in facet["dataset"]:
            yield output, "", source
    for entry in event.get("job", {}).get("facets", {}).get("lineage", {}).get("entries", []):
        for field, sources in entry["fields"].items():
            for source in sources["inputs"]:
                yield entry, field, source
        for source in entry["inputs"]:
            if "field" in source:
                yield entry, "", source


def short(name: str) -> str:
    """The last part of a dataset's or SQL table's name."""
    return name.replace("/", ".").split(".")[-1]
