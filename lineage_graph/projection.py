"""The fold: joins upserts into the stored entities and keeps what is current beside them (design 5).

Which flow and which column mapping of a job's output are *current* depends on the states of its runs, so it is no
property that merges. It is derived here, as a function of the joined runs, once for all stores: a store only hands
over what it holds (:class:`Reader`) and writes down the :class:`Changes`. The derivation is kept up to date in
constant time for a run that extends the history; only a run that takes something back (a FAIL after a COMPLETE, a
parent learned late) makes it look at the job's other runs again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

from lineage_graph.model import (
    NOTHING,
    ColumnMapping,
    Dataset,
    DatasetKey,
    Evidence,
    ExecutionKey,
    Flow,
    Job,
    JobKey,
    OutputKey,
    Run,
    RunKey,
    Schema,
    Stamp,
    join_maps,
)
from lineage_graph.upserts import Upserts

Rank: TypeAlias = tuple[int, int]
"""(1, completion time) of a successful run or execution, (0, end) of one that failed."""


class Vote(NamedTuple):
    """What one run contributes to the choice of one output's current value."""

    execution: ExecutionKey
    rank: Rank | None
    """``None`` while the run is not over."""
    begun: int
    alive: int
    value: str
    wrote_at: int


@dataclass(slots=True)
class Choice:
    """The current values of one output: those of the latest successful execution, plus those of runs not over.

    ``values`` holds, for the best execution, each value with the newest time at which a run wrote under it. The best
    execution is the latest successful one; where none succeeded, the latest that failed, so that what it reported
    counts, marked (design 5).
    """

    best: tuple[Rank, ExecutionKey] | None = None
    values: dict[str, int] = field(default_factory=dict)
    open: dict[RunKey, Vote] = field(default_factory=dict)

    def current(self, beside: Choice | None = None) -> dict[str, tuple[str, int]]:
        """Value -> (how, newest write), with how one of successful, failed, running.

        With ``beside``, only what comes from other runs than those that decide that choice.
        """
        how = "successful" if self.best and self.best[0][0] else "failed"
        current: dict[str, tuple[str, int]] = {}
        if self.best and (beside is None or beside.best is None or beside.best[1] != self.best[1]):
            current = {value: (how, wrote_at) for value, wrote_at in self.values.items()}
        for run, vote in self.open.items():
            if self._counts(vote) and (beside is None or run not in beside.open):
                known, wrote_at = current.get(vote.value, ("running", vote.wrote_at))
                current[vote.value] = ("running" if known == "failed" else known, max(wrote_at, vote.wrote_at))
        return current

    def _counts(self, vote: Vote) -> bool:
        """A run not over counts when it began, or still reported, since the best execution (design 4, streaming)."""
        if self.best is None or self.best[0][0] == 0:
            return True
        since = self.best[0][1]
        return vote.execution == self.best[1] or vote.begun >= since or vote.alive > since

    def add(self, run: RunKey, vote: Vote) -> bool:
        """Take a vote that takes nothing back. False when the best execution changed to one with other runs."""
        if vote.rank is None:
            self.open[run] = vote
            return True
        self.open.pop(run, None)
        new = (vote.rank, vote.execution)
        if self.best is None or new > self.best:
            same = self.best is not None and self.best[1] == vote.execution and self.best[0][0] == vote.rank[0]
            self.best = new
            if not same:
                self.values = {}
                return False
        elif vote.execution != self.best[1] or vote.rank[0] != self.best[0][0]:
            return True
        self.values[vote.value] = max(vote.wrote_at, self.values.get(vote.value, vote.wrote_at))
        return True

    def recount(self, votes: Iterable[tuple[RunKey, Vote]]) -> None:
        """Set ``values`` from the runs of the best execution; those of its runs that are not over count again."""
        assert self.best is not None
        self.values = {}
        for run, vote in votes:
            if vote.execution != self.best[1]:
                continue
            if vote.rank is None:
                self.open[run] = vote
            elif vote.rank[0] == self.best[0][0]:
                self.values[vote.value] = max(vote.wrote_at, self.values.get(vote.value, vote.wrote_at))

    def prune(self) -> None:
        """Forget runs that never ended and that a later success has passed; only a full recount brings them back."""
        for run in [run for run, vote in self.open.items() if not self._counts(vote)]:
            del self.open[run]


@dataclass(slots=True)
class Output:
    """One dataset as one job writes it (or ``NOTHING``: what the job reads)."""

    key: OutputKey
    evidence: Evidence | None = None
    flows: Choice = field(default_factory=Choice)
    """Over digests of flows."""
    columns: Choice = field(default_factory=Choice)
    """Over ``mapping digest/flow digest of its unlisted sources``, by the runs that sent column lineage."""

    def current_columns(self, beside: Choice | None = None) -> dict[str, tuple[str, int]]:
        """As :meth:`Choice.current` of the columns. What a failed run sent adds nothing once the job succeeded."""
        current = self.columns.current(beside)
        if self.flows.best and self.flows.best[0][0]:
            return {value: counted for value, counted in current.items() if counted[0] != "failed"}
        return current

    def current_flows(self) -> dict[str, tuple[str, int]]:
        """Digest -> (how, newest write) of the flows that hold now.

        Column lineage of an earlier run still holds when the latest sent none; the sources that only it names are
        then a flow of their own. Where the latest run sent it, its own flow has them.
        """
        current = self.flows.current()
        for value, counted in self.current_columns(beside=self.flows).items():
            unlisted = value.partition("/")[2]
            if unlisted:
                current.setdefault(unlisted, counted)
        return current


@dataclass(slots=True)
class Use:
    """A flow or a column mapping as the runs of one output reported it: the evidence of a pair (design 3)."""

    runs: int = 0
    first: Stamp | None = None
    last: tuple[int, str, str] | None = None
    succeeded: int | None = None
    """Newest completion of a successful run that reported it."""
    declared: bool = False
    observed: bool = False

    def evidence(self) -> Evidence:
        assert self.first
        assert self.last
        return Evidence(self.first, self.last, self.declared, self.observed)

    def add(self, first: Stamp, last: tuple[int, str, str], ended: int | None, declared: bool) -> None:
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)
        if ended is not None:
            self.succeeded = ended if self.succeeded is None else max(self.succeeded, ended)
        self.declared |= declared
        self.observed |= not declared


UseKey: TypeAlias = tuple[OutputKey, str]
"""(output, digest of a flow or of a column mapping)."""


class Reader(Protocol):
    """What the fold asks of a store. Entities come back as the store's own, to be changed in place."""

    def datasets(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, Dataset]: ...
    def jobs(self, keys: Iterable[JobKey]) -> dict[JobKey, Job]: ...
    def runs(self, keys: Iterable[RunKey]) -> dict[RunKey, Run]: ...
    def outputs(self, keys: Iterable[OutputKey]) -> dict[OutputKey, Output]: ...
    def uses(self, keys: Iterable[UseKey]) -> dict[UseKey, Use]: ...
    def reads(self, keys: Iterable[tuple[DatasetKey, JobKey]]) -> dict[tuple[DatasetKey, JobKey], Evidence]: ...
    def schemas(self, keys: Iterable[tuple[DatasetKey, str]]) -> dict[tuple[DatasetKey, str], Evidence]: ...
    def expect_executions(self, executions: Iterable[ExecutionKey]) -> None:
        """Told which executions :meth:`runs_of_execution` may ask for, so that a store may fetch them at once."""
        ...

    def runs_of_execution(self, execution: ExecutionKey) -> Iterable[Run]: ...
    def runs_of_output(self, output: OutputKey) -> Iterable[Run]: ...


@dataclass(slots=True)
class Changes:
    """What a store has to write: whole entities by key; a use of ``None`` is gone."""

    datasets: dict[DatasetKey, Dataset] = field(default_factory=dict)
    jobs: dict[JobKey, Job] = field(default_factory=dict)
    runs: dict[RunKey, Run] = field(default_factory=dict)
    outputs: dict[OutputKey, Output] = field(default_factory=dict)
    uses: dict[UseKey, Use | None] = field(default_factory=dict)
    reads: dict[tuple[DatasetKey, JobKey], Evidence] = field(default_factory=dict)
    schemas: dict[tuple[DatasetKey, str], tuple[Schema, Evidence]] = field(default_factory=dict)
    flows: dict[str, Flow] = field(default_factory=dict)
    mappings: dict[str, ColumnMapping] = field(default_factory=dict)
    columns: set[tuple[DatasetKey, str]] = field(default_factory=set)


@dataclass(slots=True)
class _Report:
    """One run's word on one output, as the fold needs it: before and after the join."""

    flow: str
    mapping: str | None
    unlisted: str
    vote: Vote
    first: Stamp
    last: tuple[int, str, str]

    def uses(self) -> set[str]:
        return {use for use in (self.flow, self.mapping, self.unlisted) if use}

    def column_vote(self) -> Vote | None:
        if self.mapping is None:
            return None
        return self.vote._replace(value=f"{self.mapping}/{self.unlisted}")

    @property
    def ended(self) -> int | None:
        return self.vote.rank[1] if self.vote.rank and self.vote.rank[0] else None


def reports_of(run: Run, flows: dict[str, Flow]) -> dict[OutputKey, _Report]:
    """What a run says of each output it wrote and of what it read; new flows are added to ``flows``."""
    if "reported" not in run.roles:
        return {}
    state, started, ended = run.state
    rank = None if ended is None else (int(state == "COMPLETED"), ended)
    begun = run.first[0] if started is None else started
    reports: dict[OutputKey, _Report] = {}
    job, execution = run.job, run.execution
    digests: dict[tuple[tuple[DatasetKey, str], ...], str] = {}

    def digest_of(sources: tuple[tuple[DatasetKey, str], ...]) -> str:
        if sources not in digests:
            flow = Flow(job, sources)
            digests[sources] = flow.digest
            flows[flow.digest] = flow
        return digests[sources]

    for dataset, claim in run.claims().items():
        if dataset == NOTHING:
            if run.declared and not run.inputs:
                continue
            seen = run.inputs.values()
            first = min((read.first for read in seen), default=run.first)
            last = max((read.last for read in seen), default=run.last)
        else:
            first, last = run.outputs[dataset].first, run.outputs[dataset].last
        digest, unlisted = digest_of(claim.sources), ""
        if claim.mapping and claim.unlisted:
            unlisted = digest_of(tuple((source, "column") for source in claim.unlisted))
        vote = Vote(execution, rank, begun, run.alive or begun, digest, last[0])
        reports[job, dataset] = _Report(digest, claim.mapping, unlisted, vote, first, last)
    return reports


def fold(upserts: Upserts, reader: Reader) -> Changes:
    """Join a batch of upserts into what the store holds.

    Equal for any order and batching of the same set of events. Entities without any change are not among the
    changes, so an unchanged fact costs no write.
    """
    changes = Changes(mappings=upserts.mappings, columns=upserts.columns)
    changes.datasets = reader.datasets(upserts.datasets)
    join_maps(changes.datasets, upserts.datasets)
    changes.jobs = reader.jobs(upserts.jobs)
    join_maps(changes.jobs, upserts.jobs)
    changes.reads = reader.reads(upserts.reads)
    join_maps(changes.reads, upserts.reads)
    schemas = {(dataset, schema.digest): (schema, evidence) for (dataset, schema), evidence in upserts.schemas.items()}
    known = reader.schemas(schemas)
    for key, (schema, evidence) in schemas.items():
        changes.schemas[key] = schema, known[key].join(evidence) if key in known else evidence
    _fold_runs(upserts, reader, changes)
    return changes


def _fold_runs(upserts: Upserts, reader: Reader, changes: Changes) -> None:
    runs = reader.runs(upserts.runs)
    before = {key: reports_of(run, changes.flows) for key, run in runs.items()}
    join_maps(runs, upserts.runs)
    after = {key: reports_of(run, changes.flows) for key, run in runs.items()}
    changes.runs = runs

    touched = {output for reports in (*before.values(), *after.values()) for output in reports}
    outputs = reader.outputs(touched | upserts.writes.keys())
    for key in touched | upserts.writes.keys():
        outputs.setdefault(key, Output(key))
    for key, evidence in upserts.writes.items():
        held = outputs[key].evidence
        outputs[key].evidence = evidence if held is None else held.join(evidence)
    changes.outputs = outputs

    reader.expect_executions(
        {
            report.vote.execution
            for reports in after.values()
            for key, report in reports.items()
            if (best := outputs[key].flows.best) is None or best[1] != report.vote.execution
        }
    )
    view = _View(reader, runs, after)
    _count_uses(before, after, view, changes)
    for run, reports in after.items():
        for key, report in reports.items():
            old = before.get(run, {}).get(key)
            _choose(outputs[key].flows, run, old.vote if old else None, report.vote, key, view, columns=False)
            column_vote = report.column_vote()
            old_vote = old.column_vote() if old else None
            if column_vote or old_vote:
                _choose(outputs[key].columns, run, old_vote, column_vote, key, view, columns=True)
        for key in before.get(run, {}).keys() - reports.keys():
            _recount(outputs[key].flows, key, view, columns=False)
            _recount(outputs[key].columns, key, view, columns=True)


def _choose(
    choice: Choice,
    run: RunKey,
    old: Vote | None,
    new: Vote | None,
    key: OutputKey,
    view: _View,
    columns: bool,
) -> None:
    if old == new:
        return
    if new is None or (old is not None and old.rank is not None and not _extends(old, new)):
        _recount(choice, key, view, columns)
    elif not choice.add(run, new):
        choice.recount(view.votes_of_execution(new.execution, key, columns))
    choice.prune()


def _extends(old: Vote, new: Vote) -> bool:
    """The new vote only moves the old one forward, so that nothing chosen has to be taken back."""
    return (
        old.execution == new.execution
        and old.value == new.value
        and new.rank is not None
        and old.rank is not None
        and new.rank >= old.rank
        and new.rank[0] == old.rank[0]
        and new.wrote_at >= old.wrote_at
    )


def _recount(choice: Choice, key: OutputKey, view: _View, columns: bool) -> None:
    """Choose again from all runs of the output."""
    votes = view.votes_of_output(key, columns)
    choice.best = max(((vote.rank, vote.execution) for _, vote in votes if vote.rank is not None), default=None)
    choice.open = {run: vote for run, vote in votes if vote.rank is None}
    choice.values = {}
    if choice.best is not None:
        choice.recount(votes)
    choice.prune()


class _View:
    """The runs of the store with those of this batch laid over them."""

    def __init__(
        self, reader: Reader, runs: dict[RunKey, Run], reports: dict[RunKey, dict[OutputKey, _Report]]
    ) -> None:
        self.reader = reader
        self._runs = runs
        self._reports = dict(reports)
        self._by_execution: dict[ExecutionKey, list[Run]] = {}
        self._by_job: dict[JobKey, list[Run]] = {}
        for run in runs.values():
            self._by_execution.setdefault(run.execution, []).append(run)
            self._by_job.setdefault(run.job, []).append(run)

    def votes_of_execution(self, execution: ExecutionKey, key: OutputKey, columns: bool) -> list[tuple[RunKey, Vote]]:
        held = {run.key: run for run in self.reader.runs_of_execution(execution)}
        held |= {run.key: run for run in self._by_execution.get(execution, ())}
        return self._votes(held, key, columns)

    def votes_of_output(self, key: OutputKey, columns: bool) -> list[tuple[RunKey, Vote]]:
        return self._votes(self._runs_of_output(key), key, columns)

    def reports_of_output(self, key: OutputKey) -> Iterator[tuple[Run, _Report]]:
        for name, run in self._runs_of_output(key).items():
            report = self._of(name, run).get(key)
            if report:
                yield run, report

    def _runs_of_output(self, key: OutputKey) -> dict[RunKey, Run]:
        held = {run.key: run for run in self.reader.runs_of_output(key)}
        held |= {run.key: run for run in self._by_job.get(key[0], ())}
        return held

    def _of(self, name: RunKey, run: Run) -> dict[OutputKey, _Report]:
        if name not in self._reports:
            self._reports[name] = reports_of(run, {})
        return self._reports[name]

    def _votes(self, held: dict[RunKey, Run], key: OutputKey, columns: bool) -> list[tuple[RunKey, Vote]]:
        votes = []
        for name, run in held.items():
            report = self._of(name, run).get(key)
            vote = report and (report.column_vote() if columns else report.vote)
            if vote:
                votes.append((name, vote))
        return votes


def _count_uses(
    before: dict[RunKey, dict[OutputKey, _Report]],
    after: dict[RunKey, dict[OutputKey, _Report]],
    view: _View,
    changes: Changes,
) -> None:
    """Keep, for each flow and mapping of an output, how many runs report it and the evidence of those."""
    lost: dict[UseKey, int] = {}
    gained: dict[UseKey, list[tuple[RunKey, _Report]]] = {}
    kept: dict[UseKey, list[tuple[RunKey, _Report, _Report]]] = {}
    for run, reports in after.items():
        earlier = before.get(run, {})
        for key in reports.keys() | earlier.keys():
            new, old = reports.get(key), earlier.get(key)
            new_uses = new.uses() if new else set()
            old_uses = old.uses() if old else set()
            for use in old_uses - new_uses:
                lost[key, use] = lost.get((key, use), 0) + 1
            for use in new_uses - old_uses:
                assert new
                gained.setdefault((key, use), []).append((run, new))
            for use in new_uses & old_uses:
                assert new
                assert old
                kept.setdefault((key, use), []).append((run, new, old))
    uses = view.reader.uses(lost.keys() | gained.keys() | kept.keys())
    for name in lost.keys() | gained.keys() | kept.keys():
        held = uses.get(name) or Use()
        held.runs += len(gained.get(name, ())) - lost.get(name, 0)
        if held.runs <= 0:
            changes.uses[name] = None
            continue
        stays = all(
            old.ended is None or (new.ended is not None and new.ended >= old.ended)
            for _, new, old in kept.get(name, ())
        )
        if name in lost or not stays:
            held = _evidence_again(name, held.runs, view)
        else:
            news = [*gained.get(name, ()), *((run, new) for run, new, _ in kept.get(name, ()))]
            for run, report in news:
                held.add(report.first, report.last, report.ended, changes.runs[run].declared)
        changes.uses[name] = held


def _evidence_again(key: UseKey, runs: int, view: _View) -> Use:
    use = Use(runs)
    for run, report in view.reports_of_output(key[0]):
        if key[1] in report.uses():
            use.add(report.first, report.last, report.ended, run.declared)
    return use
