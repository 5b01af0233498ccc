"""Which split each image pair belongs to: by pivot species, and so that nothing leaks.

Pairs are joined into one group when they share the pivot species, a photo, an observation or the
same image in two photos. A group goes to one split as a whole, by a keyed hash of its smallest
pivot species: later versions with more pairs keep earlier rows where they were.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from pairs_to_words.project.seeds import keyed_hash


def split_pairs(
    keys: Mapping[str, Sequence[Hashable]],
    species: Mapping[str, int],
    shares: Mapping[str, float],
    seed: int,
) -> dict[str, str]:
    """Return pair id -> split.

    Args:
        keys: Pair id to what it must not share with another split.
        species: Pair id to pivot species id.
        shares: Split to its share; they sum to 1.
        seed: The project's seed.
    """
    groups = connected(keys)
    smallest: dict[str, int] = {}
    for pair_id, group in groups.items():
        smallest[group] = min(smallest.get(group, species[pair_id]), species[pair_id])
    return {
        pair_id: split_of_species(smallest[group], shares, seed)
        for pair_id, group in groups.items()
    }


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
    parent = {member: member for member in keys}

    def root(member: str) -> str:
        while parent[member] != member:
            parent[member] = parent[parent[member]]
            member = parent[member]
        return member

    holder: dict[Hashable, str] = {}
    for member, held in keys.items():
        for key in held:
            first, second = sorted((root(holder.setdefault(key, member)), root(member)))
            parent[second] = first
    return {member: root(member) for member in keys}
