"""Which names are one dataset (design 2), and how that dataset stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import networkx as nx

from lineage_graph.model import Dataset, DatasetKey, Life, joined_to


class Named(Protocol):
    """What of a store tells about names."""

    def datasets(self, keys: Iterable[DatasetKey]) -> dict[DatasetKey, Dataset]: ...

    def alias_claims(self, keys: Iterable[DatasetKey]) -> set[DatasetKey]:
        """The datasets whose symlinks or renames name one of these, or are named by one of these."""
        ...


class Names:
    """Which names are one dataset, learned from the store as far as a question needs it.

    Symlinks join both ways and in chains; a rename joins until the old name is written again.
    """

    def __init__(self, near: Named) -> None:
        self._near = near
        self._entities: dict[DatasetKey, Dataset] = {}
        self._group: dict[DatasetKey, DatasetKey] = {}
        self.members: dict[DatasetKey, list[Dataset]] = {}

    def learn(self, keys: Iterable[DatasetKey]) -> None:
        """Find the groups of these names; those known already cost nothing."""
        fresh = {key for key in keys if key not in self._group}
        if not fresh:
            return
        reached, level = set(fresh), set(fresh)
        self._load(level)
        while level:
            level = self._near.alias_claims(level) - reached
            self._load(level)
            reached |= level
        joined: nx.Graph[DatasetKey] = nx.Graph()
        joined.add_nodes_from(key for key in reached if key in self._entities)
        for key in list(joined):
            joined.add_edges_from((key, other) for other in joined_to(self._entities[key], self._entities))
        for group in nx.connected_components(joined):
            members = sorted((self._entities[key] for key in group), key=_rank)
            self.members[members[0].key] = members
            self._group.update((key, members[0].key) for key in group)

    def knows(self, key: DatasetKey) -> bool:
        """Whether the dataset exists, once its name was learned."""
        return key in self._group

    def canonical(self, key: DatasetKey) -> DatasetKey:
        """The name that stands for all names of a dataset that exists."""
        return self._group[key]

    def life(self, key: DatasetKey) -> Life:
        """How the dataset stands that has this name."""
        return Life.of(self.members[self._group[key]])

    def _load(self, keys: set[DatasetKey]) -> None:
        """With the previous names of renames, whose later writes decide whether the rename still joins."""
        # Never `keys - self._entities.keys()`, which goes through all that is known to leave out a few.
        self._entities |= self._near.datasets([key for key in keys if key not in self._entities])


def _rank(dataset: Dataset) -> tuple[bool, bool, bool, DatasetKey]:
    """The name to show first: not a former one, the one that its writers use, one that events use at all, by text."""
    used = not dataset.roles.isdisjoint(("input", "event", "lineage"))
    return "renamed" in dataset.roles, "output" not in dataset.roles, not used, dataset.key


def standing_of(near: Named, datasets: Mapping[DatasetKey, Dataset]) -> dict[DatasetKey, object]:
    """Of each dataset that has several names or was dropped: its names, and which of its lives have ended.

    What counts of other datasets depends on these alone; of the rest, on what their own jobs said.
    """
    special = [
        key
        for key, dataset in datasets.items()
        if dataset.dropped is not None or dataset.other_names() or not dataset.roles.isdisjoint(("symlink", "renamed"))
    ]
    names = Names(near)
    names.learn(special)
    standing: dict[DatasetKey, object] = {}
    for key in special:
        members = names.members[names.canonical(key)]
        life = Life.of(members)
        standing[key] = [member.key for member in members], life.is_dropped, sorted(life.ended.items())
    return standing
