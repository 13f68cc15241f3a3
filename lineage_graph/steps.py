"""The steps that lead on from a dataset, as a walk takes them, and a memory of them for a store in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from lineage_graph.model import NO_JOB, NOTHING, DatasetKey, JobKey, OutputKey


class Step(NamedTuple):
    """What one job makes of a dataset for ``far``, in the direction of a walk."""

    job: JobKey
    far: DatasetKey | None
    """The name that stands for all names of the dataset; ``None`` where the job only reads, or only writes."""
    output: OutputKey
    latest: bool
    """Whether it was seen in the job's latest successful execution."""
    mappings: tuple[str, ...]
    """Digests of the column mappings that hold for the output."""


class Steps:
    """All steps from one dataset one way, in a fixed order, and what a walk asks of them, taken together."""

    __slots__ = ("all", "bare", "covered", "dropped", "fars", "jobs", "only_in_columns")

    def __init__(self, steps: Iterable[Step], dropped: bool, only_in_columns: bool) -> None:
        self.all = sorted(steps, key=str)
        self.dropped = dropped
        """Whether the dataset itself is dropped now."""
        self.only_in_columns = only_in_columns
        """Whether only column lineage names the dataset itself."""
        self.fars = [*dict.fromkeys(step.far for step in self.all if step.far is not None)]
        self.jobs = [*dict.fromkeys(step.job for step in self.all if step.job != NO_JOB)]
        crossed = [step for step in self.all if step.output[1] != NOTHING]
        self.covered = [*dict.fromkeys(step.output for step in crossed if step.mappings)]
        """Outputs crossed that have column lineage."""
        self.bare = [*dict.fromkeys(step.output for step in crossed if not step.mappings)]


class Touched(NamedTuple):
    """What a merge may have changed: steps from these datasets, and steps that these jobs make."""

    datasets: set[DatasetKey]
    jobs: set[JobKey]
    standing: dict[DatasetKey, object]
    """Of each dataset that has several names or was dropped: which names it has, and which lives have ended."""


class StepMemory:
    """Steps that hold in the scope ``current`` until a merge changes them. May be used from several threads.

    A store owns one, and tells it what each merge touched. Steps found while merges went on are kept only where none of
    these touched them.
    """

    _MOST = 400_000

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[bool, dict[DatasetKey, Steps]] = {False: {}, True: {}}
        self._stands_for: dict[DatasetKey, DatasetKey] = {}
        """For other names of a dataset: the one that its steps are held by."""
        self._made_by: dict[JobKey, set[DatasetKey]] = {}
        """Datasets with steps held that a job makes."""
        self._standing: dict[DatasetKey, object] = {}
        self._merges = self._all_forgotten = 0
        self._forgotten: dict[tuple[str, ...], int] = {}
        """At which merge a dataset, or a job (its key after an empty text), was last touched."""

    def look(self) -> StepView:
        """A view for one question."""
        return StepView(self, self._merges)

    def held(self, downstream: bool) -> dict[DatasetKey, Steps]:
        return self._held[downstream]

    def keep(
        self, downstream: bool, found: dict[DatasetKey, Steps], names: dict[DatasetKey, DatasetKey], since: int
    ) -> None:
        """Hold what was found since a merge. ``names``: each name of these datasets with the one that stands for it."""
        with self._lock:
            if self._all_forgotten > since:
                return
            if len(self._held[downstream]) > self._MOST:
                self._forget_all()
            stale = {key for name, key in names.items() if self._forgotten.get(name, 0) > since}
            for key, steps in found.items():
                if key in stale or any(self._forgotten.get(("", *job), 0) > since for job in steps.jobs):
                    continue
                self._held[downstream][key] = steps
                for job in steps.jobs:
                    self._made_by.setdefault(job, set()).add(key)
            self._stands_for.update((name, key) for name, key in names.items() if name != key)

    def touched(self, what: Touched) -> None:
        """Forget what a merge may have changed; all of it when names or lives did, which may reach anything."""
        with self._lock:
            self._merges += 1
            changed = {
                name: standing for name, standing in what.standing.items() if self._standing.get(name) != standing
            }
            self._standing |= changed
            if changed or len(self._forgotten) > self._MOST:
                self._forget_all()
                return
            self._forgotten |= dict.fromkeys(what.datasets, self._merges)
            self._forgotten |= {("", *job): self._merges for job in what.jobs}
            keys = {self._stands_for.get(name, name) for name in what.datasets}
            for job in what.jobs:
                keys |= self._made_by.pop(job, set())
            for key in keys:
                self._held[True].pop(key, None)
                self._held[False].pop(key, None)

    def forget_all(self) -> None:
        """For what somebody else merged, or may have."""
        with self._lock:
            self._merges += 1
            self._forget_all()

    def _forget_all(self) -> None:
        self._all_forgotten = self._merges
        for held in (self._held[True], self._held[False], self._stands_for, self._made_by, self._forgotten):
            held.clear()


class StepView(NamedTuple):
    """A memory as one question may use it."""

    memory: StepMemory
    since: int
    """The merge after which the question began to look."""

    def held(self, downstream: bool) -> dict[DatasetKey, Steps]:
        return self.memory.held(downstream)

    def keep(self, downstream: bool, found: dict[DatasetKey, Steps], names: dict[DatasetKey, DatasetKey]) -> None:
        self.memory.keep(downstream, found, names, self.since)
