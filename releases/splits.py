"""Which split each image pair belongs to: by pivot species, and so that nothing leaks.

Pairs are joined into one group when they share the pivot species, a photo, an observation or the
same image in two photos. A group goes to one split as a whole, by a keyed hash of its smallest
pivot species. Pairs of the release before stay where they were, and their group with them; a new
pair that would join groups of two splits is left out, so growth never moves a row.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pairs_to_words.project.seeds import keyed_hash


@dataclass
class _Groups:
    """Union-find over pairs that share a key; a group may be pinned to a split."""

    parent: dict[str, str] = field(default_factory=dict)
    holder: dict[Hashable, str] = field(default_factory=dict)
    split: dict[str, str] = field(default_factory=dict)

    def root(self, member: str) -> str:
        while self.parent[member] != member:
            self.parent[member] = self.parent[self.parent[member]]
            member = self.parent[member]
        return member

    def touched(self, keys: Iterable[Hashable]) -> set[str]:
        """Return the groups that hold one of these keys."""
        return {self.root(self.holder[key]) for key in keys if key in self.holder}

    def add(self, member: str, keys: Iterable[Hashable], pinned: str | None = None) -> None:
        """Put a pair into one group with all that it touches; its root is its smallest pair."""
        self.parent.setdefault(member, member)
        joined = {self.root(member), *self.touched(keys)}
        splits = {self.split[root] for root in joined if root in self.split}
        first = min(joined)
        for root in joined:
            self.parent[root] = first
        for key in keys:
            self.holder.setdefault(key, first)
        if pinned or splits:
            self.split[first] = pinned or min(splits)


def split_pairs(
    keys: Mapping[str, Sequence[Hashable]],
    species: Mapping[str, int],
    shares: Mapping[str, float],
    seed: int,
    pinned: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return pair id -> split; a new pair that would join two splits is not in it.

    Args:
        keys: Pair id to what it must not share with another split.
        species: Pair id to pivot species id.
        shares: Split to its share; they sum to 1.
        seed: The project's seed.
        pinned: Pair id to its split in the release before.
    """
    pinned = {pair_id: split for pair_id, split in (pinned or {}).items() if pair_id in keys}
    groups = _Groups()
    for pair_id in sorted(pinned):
        groups.add(pair_id, keys[pair_id], pinned[pair_id])
    kept = [*sorted(pinned)]
    for pair_id in sorted(set(keys) - set(pinned)):
        splits = {groups.split.get(root) for root in groups.touched(keys[pair_id])} - {None}
        if len(splits) <= 1:
            groups.add(pair_id, keys[pair_id])
            kept.append(pair_id)
    smallest: dict[str, int] = {}
    for pair_id in kept:
        root = groups.root(pair_id)
        smallest[root] = min(smallest.get(root, species[pair_id]), species[pair_id])
    found = dict(pinned)
    for pair_id in kept:
        root = groups.root(pair_id)
        by_hash = split_of_species(smallest[root], shares, seed)
        found.setdefault(pair_id, groups.split.get(root, by_hash))
    return found


def split_of_species(species_id: int, shares: Mapping[str, float], seed: int) -> str:
    """Return the split that a keyed hash gives to a pivot species."""
    place = keyed_hash(seed, "split", species_id) / 2**64
    total = 0.0
    for split, share in shares.items():
        total += share
        if place < total:
            return split
    return list(shares)[-1]


def connected(keys: Mapping[str, Iterable[Hashable]]) -> dict[str, str]:
    """Return member -> the smallest member that it is connected with through shared keys."""
    groups = _Groups()
    for member, held in keys.items():
        groups.add(member, list(held))
    return {member: groups.root(member) for member in keys}
