"""The steps that lead on from a dataset, as a walk takes them, and a memory of them for a store in this process."""

from __future__ import annotations

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


class StepMemory:
    """Steps that hold in the scope ``current`` until a merge changes them.

    A store in this process owns one and forgets in it what each merge may have changed.
    """

    _MOST = 400_000

    def __init__(self) -> None:
        self._held: dict[bool, dict[DatasetKey, Steps]] = {False: {}, True: {}}
        self._stands_for: dict[DatasetKey, DatasetKey] = {}
        """For other names of a dataset: the one that its steps are held by."""

    def __bool__(self) -> bool:
        return bool(self._held[True] or self._held[False])

    def held(self, downstream: bool) -> dict[DatasetKey, Steps]:
        return self._held[downstream]

    def keep(self, downstream: bool, found: dict[DatasetKey, Steps], names: dict[DatasetKey, DatasetKey]) -> None:
        """``names``: each name of these datasets with the one that stands for it."""
        if len(self._held[downstream]) > self._MOST:
            self.forget_all()
        self._held[downstream].update(found)
        self._stands_for.update((name, key) for name, key in names.items() if name != key)

    def forget(self, names: Iterable[DatasetKey]) -> None:
        for name in names:
            key = self._stands_for.get(name, name)
            self._held[True].pop(key, None)
            self._held[False].pop(key, None)

    def forget_all(self) -> None:
        """For a change of names or lives, which may reach anything."""
        self._held[True].clear()
        self._held[False].clear()
        self._stands_for.clear()
