"""Names of nodes as people type them, resolved against what exists (design 2).

Ids follow Marquez: ``dataset:<namespace>:<name>``, ``job:<namespace>:<name>``, ``run:<id>``,
``datasetField:<namespace>:<dataset>:<field>``. Namespaces hold colons, so an id is read in every way that it can be,
and the one that exists counts; where two exist, the answer is an error that names both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from lineage_graph.cut import NodeId
from lineage_graph.errors import Ambiguous, BadRequest, NotFound
from lineage_graph.events import run_uuid
from lineage_graph.model import RunKey
from lineage_graph.names import Names
from lineage_graph.store import Found, Neighbourhood

_MOST_COLONS = 40
"""Beyond this an id has too many readings to try; namespace and name say it without doubt."""
_ALIKE = 0.8
"""Likeness of a name to one that is not known above which it may have been meant."""
_MOST_ALIKE = 1_000
"""Names compared with one that is not known."""


class Asked(NamedTuple):
    """What a question is about, as given: an id, or its parts."""

    node: str | None = None
    namespace: str | None = None
    name: str | None = None
    field: str | None = None
    type: str = "dataset"
    """dataset or job: what namespace and name stand for."""
    end: str = ""
    """source or target: which end of a path it is. Errors then call parameters by the names that this end's have."""

    def parameter(self, part: str) -> str:
        """The name of the parameter that a part was given by."""
        return part if not self.end else self.end if part == "node" else f"{self.end}_{part}"

    def __str__(self) -> str:
        if self.node is not None:
            return self.node
        parts = [part for part in (self.namespace, self.name, self.field) if part is not None]
        return ":".join(["datasetField" if self.field is not None else self.type, *parts])


@lru_cache(maxsize=50_000)
def text_id(node: NodeId) -> str:
    """``("dataset", namespace, name)`` and the like as an id of the API."""
    kind = {"column": "datasetField"}.get(node[0], node[0])
    return f"run:{node[3]}" if kind == "run" else ":".join((kind, *node[1:]))


def resolve(asked: Asked, near: Neighbourhood, runs: list[RunKey]) -> NodeId:
    """The node that exists: ``("dataset", namespace, name)``, ``("column", …, field)``, ``("job", …)`` or
    ``("run", job namespace, job name, run id)``. ``runs`` are those with the asked run id.

    Raises :class:`BadRequest` when it can't be read, :class:`NotFound` when nothing of that name exists,
    :class:`Ambiguous` when more than one thing does.
    """
    readings = list(_readings(asked, runs))
    found = sorted(set(_existing(readings, near)))
    if not found:
        raise NotFound(str(asked), end=asked.end)
    if len(found) > 1:
        raise Ambiguous(str(asked), [_spelled_out(node) for node in found])
    return found[0]


def nearest(asked: Asked, search: Callable[[str, str], list[Found]]) -> list[str]:
    """Ids of at most three nodes of the kind asked for whose name holds the one given, or else is nearly it.

    ``search`` gives the nodes whose name holds a text, of the kind dataset or job.
    """
    kind, *parts = asked.node.split(":") if asked.node is not None else (asked.type, asked.name or "")
    name = parts[-2] if kind == "datasetField" and len(parts) > 2 else parts[-1]
    if kind == "run" or not name:
        return []
    half = (len(name) + 1) // 2
    for part in (name, name[:half], name[half:] or name):
        hits = search(part, "job" if kind == "job" else "dataset")[:_MOST_ALIKE]
        likeness = {hit: SequenceMatcher(None, hit.name, name).ratio() for hit in hits}
        alike = [hit for hit in hits if part == name or likeness[hit] > _ALIKE]
        if alike:
            best = sorted(alike, key=lambda hit: -likeness[hit])
            return [text_id((hit.type, hit.namespace, hit.name)) for hit in best[:3]]
    return []


def run_id_of(asked: Asked) -> str | None:
    """The run id that an id of a run means, as a UUID; ``None`` for ids of other nodes."""
    if asked.node is None or not asked.node.startswith("run:"):
        return None
    if asked.node == "run:":
        raise BadRequest(asked.parameter("node"), "'run:' lacks the run id")
    return run_uuid(asked.node[4:])


def _readings(asked: Asked, runs: list[RunKey]) -> Iterator[NodeId]:
    if asked.node is None:
        yield _from_parts(asked)
        return
    kind, _, rest = asked.node.partition(":")
    for part in ("field",) if kind == "run" else ("namespace", "name", "field"):
        if getattr(asked, part) is not None:
            node = asked.parameter("node")
            raise BadRequest(asked.parameter(part), f"is given beside {node}=; give {node}=, or {_parts(asked)}")
    if kind == "run":
        yield from (("run", *key) for key in runs if _is_job(asked, key))
        return
    parts = rest.split(":")
    if kind not in ("dataset", "job", "datasetField") or len(parts) < (3 if kind == "datasetField" else 2):
        raise BadRequest(
            asked.parameter("node"),
            f"{asked.node!r} is no node id; write dataset:<namespace>:<name>, job:<namespace>:<name>, run:<id> or "
            f"datasetField:<namespace>:<dataset>:<field>, or give {_parts(asked)}",
        )
    if len(parts) > _MOST_COLONS:
        raise BadRequest(
            asked.parameter("node"), f"has too many colons to be read for sure; give {_parts(asked)} instead"
        )
    for i in range(1, len(parts)):
        namespace = ":".join(parts[:i])
        if kind != "datasetField":
            yield kind, namespace, ":".join(parts[i:])
            continue
        for j in range(i + 1, len(parts)):
            yield "column", namespace, ":".join(parts[i:j]), ":".join(parts[j:])


def _parts(asked: Asked) -> str:
    namespace, name, field = (asked.parameter(part) for part in ("namespace", "name", "field"))
    return f"{namespace}=, {name}= and {field}="


def _from_parts(asked: Asked) -> NodeId:
    if asked.namespace is None or asked.name is None:
        node = asked.parameter("node")
        raise BadRequest(node, f"is missing: give {node}=<id>, or {_parts(asked)} (the last for a column)")
    if asked.field is not None and asked.type == "job":
        raise BadRequest(
            asked.parameter("field"), f"is given beside {asked.parameter('type')}=job, but a job has no columns"
        )
    if asked.field is not None:
        return "column", asked.namespace, asked.name, asked.field
    return asked.type, asked.namespace, asked.name


def _is_job(asked: Asked, key: RunKey) -> bool:
    """With namespace and name beside a run's id, only the run of that job is meant."""
    return asked.namespace in (None, key[0]) and asked.name in (None, key[1])


def _existing(readings: list[NodeId], near: Neighbourhood) -> Iterator[NodeId]:
    datasets = near.datasets({(node[1], node[2]) for node in readings if node[0] in ("dataset", "column")})
    jobs = near.jobs({(node[1], node[2]) for node in readings if node[0] == "job"})
    columns: dict[tuple[str, str], set[str]] = {}
    for node in readings:
        key = (node[1], node[2])
        if node[0] == "run" or (node[0] == "job" and key in jobs) or (node[0] == "dataset" and key in datasets):
            yield node
        elif node[0] == "column" and key in datasets:
            if key not in columns:
                names = Names(near)
                names.learn([key])
                members = [member.key for member in names.members[names.canonical(key)]]
                columns[key] = {name for known in near.known_columns(members).values() for name in known}
            if node[3] in columns[key]:
                yield node


def _spelled_out(node: NodeId) -> str:
    names = ("namespace", "name", "run") if node[0] == "run" else ("namespace", "name", "field")
    return " ".join([node[0], *(f"{name}={part!r}" for name, part in zip(names, node[1:], strict=False))])
