"""A seeded estate of pipelines as OpenLineage events: layers of tables, jobs between them, columns mapped through."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

_PRODUCER = "https://example.org/bench"
_NAMESPACE = "warehouse://bench:5432"


def table(layer: int, index: int) -> str:
    return f"layer_{layer:02d}.table_{index:04d}"


def events(layers: int, width: int, columns: int = 15, runs: int = 1, seed: int = 7) -> Iterator[dict[str, Any]]:
    """``layers * width`` tables, each but the first layer's made by one job from one to three tables of the layer
    before. Every table of a layer feeds the next one. Each job has ``runs`` runs of one COMPLETE event, about 9 KB
    with 15 columns and their lineage. Equal arguments give equal events."""
    random_ = random.Random(seed)
    sources = {
        (layer, index): sorted({index, *(random_.randrange(width) for _ in range(random_.randrange(3)))})
        for layer in range(1, layers)
        for index in range(width)
    }
    for run in range(runs):
        for (layer, index), read in sources.items():
            yield _event(layer, index, read, columns, run)


def _event(layer: int, index: int, read: list[int], columns: int, run: int) -> dict[str, Any]:
    names = [f"column_{number:03d}" for number in range(columns)]
    fields = [{"name": name, "type": "VARCHAR", "description": f"what {name} holds"} for name in names]
    inputs = [(layer - 1, source) for source in read]
    lineage = {
        name: {
            "inputFields": [
                {
                    "namespace": _NAMESPACE,
                    "name": table(*inputs[number % len(inputs)]),
                    "field": name,
                    "transformations": [
                        {"type": "DIRECT", "subtype": "IDENTITY", "description": f"as it is, {name}", "masking": False}
                    ],
                }
            ]
        }
        for number, name in enumerate(names)
    }

    def facet(kind: str, **content: Any) -> dict[str, Any]:
        return {
            "_producer": _PRODUCER,
            "_schemaURL": f"https://openlineage.io/spec/facets/1-0-0/{kind}.json",
            **content,
        }

    def dataset(key: tuple[int, int], **facets: Any) -> dict[str, Any]:
        schema = facet("SchemaDatasetFacet", fields=fields)
        return {"namespace": _NAMESPACE, "name": table(*key), "facets": {"schema": schema, **facets}}

    return {
        "eventTime": f"2026-01-{1 + run % 28:02d}T{layer % 24:02d}:{index % 60:02d}:00Z",
        "eventType": "COMPLETE",
        "producer": _PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": f"run-{layer}-{index}-{run}"},
        "job": {"namespace": "bench", "name": f"make_{table(layer, index)}"},
        "inputs": [dataset(key) for key in inputs],
        "outputs": [
            dataset((layer, index), columnLineage=facet("ColumnLineageDatasetFacet", fields=lineage)),
        ],
    }
