"""Entities as JSON text and back, exactly: how a store that is no Python keeps what merges.

Every ``pack_x`` has an ``unpack_x`` so that ``unpack_x(pack_x(entity)) == entity``. Packed text of equal entities is
equal, so a store sees by comparing texts that nothing changed and writes nothing.
"""

from __future__ import annotations

from typing import Any

import orjson

from lineage_graph.events import canonical, decode
from lineage_graph.model import (
    ColumnMapping,
    Dataset,
    DatasetKey,
    Evidence,
    Facets,
    Flow,
    Job,
    JobKey,
    Lineage,
    OutputKey,
    Run,
    RunInput,
    RunKey,
    RunOutput,
)
from lineage_graph.projection import Choice, Output, Use, Vote


def pack(content: Any) -> str:
    """JSON text with sorted keys."""
    return orjson.dumps(content, default=_plain, option=orjson.OPT_SORT_KEYS).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, (frozenset, set)):
        return sorted(value)
    if isinstance(value, tuple):
        return list(value)
    raise TypeError


def unpack(text: str) -> Any:
    return orjson.loads(text)


def _pair(value: list[str]) -> tuple[str, str]:
    return value[0], value[1]


def _facets_out(facets: Facets) -> dict[str, Any]:
    """Content as text in the text: what is never shown need not be read to be held."""
    return {name: [time, digest, content and content.decode()] for name, (time, digest, content) in facets.items()}


def _facets_in(packed: dict[str, Any]) -> Facets:
    return {name: (time, digest, text and text.encode()) for name, (time, digest, text) in packed.items()}


def _raw(content: bytes | None) -> orjson.Fragment | None:
    return None if content is None else orjson.Fragment(content)


def _content(value: Any) -> bytes | None:
    return None if value is None else canonical(value)


def stamps_of(facets: Facets) -> dict[str, list[Any]]:
    """When each facet was set, and by which event: what changes with each event though the content does not."""
    return {name: [time, digest] for name, (time, digest, _) in facets.items()}


def _raw_contents(facets: Facets) -> dict[str, Any]:
    return {name: _raw(content) for name, (_, _, content) in facets.items()}


def _facets_joined(stamps: dict[str, list[Any]], contents: dict[str, Any]) -> Facets:
    return {name: (time, digest, _content(contents.get(name))) for name, (time, digest) in stamps.items()}


def pack_dataset(dataset: Dataset) -> tuple[str, str]:
    """State, and the contents of its facets apart."""
    state = [
        dataset.first_seen,
        dataset.last_seen,
        sorted(dataset.roles),
        stamps_of(dataset.facets),
        dataset.written,
        dataset.dropped,
        sorted((*name, time) for name, time in dataset.renamed_from.items()),
    ]
    return pack(state), pack(_raw_contents(dataset.facets))


def unpack_dataset(key: DatasetKey, state: str, facets: str) -> Dataset:
    first, last, roles, stamps, written, dropped, renamed = unpack(state)
    names = {(namespace, name): time for namespace, name, time in renamed}
    held = _facets_joined(stamps, decode(facets.encode()))
    return Dataset(key, first, last, frozenset(roles), held, written, dropped, names)


def names_given(packed: tuple[str, str]) -> bool:
    """Whether a packed dataset may give itself other names."""
    return '"symlinks"' in packed[1] or bool(unpack(packed[0])[6])


def evidence_out(evidence: Evidence) -> list[Any]:
    return [evidence.first, evidence.last, evidence.declared, evidence.observed]


def evidence_in(packed: list[Any]) -> Evidence:
    first, last, declared, observed = packed
    return Evidence((first[0], first[1]), (last[0], last[1], last[2]), declared, observed)


def _jobs_out(jobs: dict[JobKey, Evidence]) -> list[Any]:
    return sorted([*key, evidence_out(evidence)] for key, evidence in jobs.items())


def _jobs_in(packed: list[Any]) -> dict[JobKey, Evidence]:
    return {(namespace, name): evidence_in(evidence) for namespace, name, evidence in packed}


def pack_job(job: Job) -> tuple[str, str]:
    """State, and the contents of its facets apart."""
    state = [
        job.first_seen,
        job.last_seen,
        sorted(job.roles),
        stamps_of(job.facets),
        _jobs_out(job.parents),
        _jobs_out(job.after),
        job.last_run,
    ]
    return pack(state), pack(_raw_contents(job.facets))


def unpack_job(key: JobKey, state: str, facets: str) -> Job:
    first, last, roles, stamps, parents, after, last_run = unpack(state)
    held = _facets_joined(stamps, decode(facets.encode()))
    run = (last_run[0], last_run[1]) if last_run else None
    return Job(key, first, last, frozenset(roles), held, _jobs_in(parents), _jobs_in(after), run)


def _lineage_in(packed: list[Any] | None) -> Lineage | None:
    if packed is None:
        return None
    time, digest, mapping, sources = packed
    return Lineage(time, digest, mapping, None if sources is None else tuple(_pair(source) for source in sources))


def pack_run(run: Run) -> str:
    inputs = sorted([*key, read.first, read.last, _facets_out(read.facets)] for key, read in run.inputs.items())
    outputs = [
        [*key, out.first, out.last, _facets_out(out.facets), out.columns, out.explicit]
        for key, out in sorted(run.outputs.items())
    ]
    return pack(
        [
            run.key,
            run.first,
            run.last,
            run.declared,
            sorted(run.given_ids),
            sorted(run.roles),
            sorted(run.marks),
            run.alive,
            run.contained_in,
            _facets_out(run.facets),
            inputs,
            outputs,
        ]
    )


def unpack_run(text: str) -> Run:
    key, first, last, declared, given, roles, marks, alive, contained, facets, inputs, outputs = unpack(text)

    def key_in(parts: list[str]) -> RunKey:
        return parts[0], parts[1], parts[2]

    return Run(
        key_in(key),
        (first[0], first[1]),
        (last[0], last[1], last[2]),
        declared,
        frozenset(given),
        frozenset(roles),
        frozenset((time, kind) for time, kind in marks),
        alive,
        (contained[0], contained[1], key_in(contained[2])) if contained else None,
        _facets_in(facets),
        {
            (namespace, name): RunInput((first[0], first[1]), (last[0], last[1], last[2]), _facets_in(own))
            for namespace, name, first, last, own in inputs
        },
        {
            (namespace, name): RunOutput(
                (first[0], first[1]),
                (last[0], last[1], last[2]),
                _facets_in(own),
                _lineage_in(columns),
                _lineage_in(explicit),
            )
            for namespace, name, first, last, own, columns, explicit in outputs
        },
    )


def _choice_out(choice: Choice) -> list[Any]:
    return [choice.best, choice.values, sorted([[*key], [*vote]] for key, vote in choice.open.items())]


def _choice_in(packed: list[Any]) -> Choice:
    best, values, open_ = packed

    def execution(parts: list[Any]) -> tuple[JobKey, str]:
        return _pair(parts[0]), parts[1]

    votes = {
        (key[0], key[1], key[2]): Vote(execution(vote[0]), vote[1] and (vote[1][0], vote[1][1]), *vote[2:])
        for key, vote in open_
    }
    return Choice(((best[0][0], best[0][1]), execution(best[1])) if best else None, values, votes)


def pack_output(output: Output) -> str:
    evidence = evidence_out(output.evidence) if output.evidence else None
    return pack([evidence, _choice_out(output.flows), _choice_out(output.columns)])


def unpack_output(key: OutputKey, text: str) -> Output:
    evidence, flows, columns = unpack(text)
    return Output(key, evidence_in(evidence) if evidence else None, _choice_in(flows), _choice_in(columns))


def pack_use(use: Use) -> str:
    return pack([use.runs, use.first, use.last, use.succeeded, use.declared, use.observed])


def unpack_use(text: str) -> Use:
    runs, first, last, succeeded, declared, observed = unpack(text)
    return Use(
        runs,
        (first[0], first[1]) if first else None,
        (last[0], last[1], last[2]) if last else None,
        succeeded,
        declared,
        observed,
    )


def pack_flow(flow: Flow) -> str:
    return pack(flow)


def unpack_flow(text: str) -> Flow:
    job, sources = unpack(text)
    return Flow(_pair(job), tuple((_pair(key), rule) for key, rule in sources))


def pack_mapping(mapping: ColumnMapping) -> str:
    return mapping.content.decode()


def unpack_mapping(text: str) -> ColumnMapping:
    return ColumnMapping.of_content(text)
