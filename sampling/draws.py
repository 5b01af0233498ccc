"""Keyed random numbers for whole arrays at once: each number is a hash of the seed and its key.

A draw for (species, level) is the same whatever else is drawn, in whatever order, in one call or in
many (sampling definitions, 5.2 no. 7). `numpy.random` generators would need one object per key,
thousands of times slower than hashing an array of keys.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pairs_to_words.project.seeds import keyed_hash

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MASK = (1 << 64) - 1


def hashes(seed: int, name: str, *keys: Ints | int) -> Hashes:
    """Return one 64-bit hash per element of the broadcast `keys`.

    The seed and name enter through BLAKE2b, the keys through the SplitMix64 finaliser (Steele et
    al. 2014), one round per key.
    """
    state: Hashes = np.asarray(np.uint64(keyed_hash(seed, name)))
    with np.errstate(over="ignore"):
        for key in keys:
            state = _mix((state + _GAMMA) ^ _mix(np.asarray(key, np.int64).view(np.uint64)))
    return state


def below(random: Hashes, bound: Ints) -> Ints:
    """Map hashes to integers in [0, bound); the bias is below bound / 2^53."""
    unit = (random >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (unit * bound).astype(np.int64)


def permutation_prefix(random: Hashes, size: Ints) -> Ints:
    """Return the first picks of a uniform random permutation of range(size), for each row.

    Args:
        random: Hashes, rows x picks.
        size: Size of each row's pool; at least 1.

    Returns:
        rows x picks; -1 where the pool has fewer elements than picks.

    Pick j is uniform over the elements that picks 0..j-1 left: its rank among them is drawn, then
    shifted past the earlier picks in ascending order.
    """
    rows, picks = random.shape
    chosen = np.full((rows, picks), -1, np.int64)
    taken = np.empty((rows, 0), np.int64)
    for j in range(picks):
        rank = below(random[:, j], np.maximum(size - j, 1))
        for earlier in range(j):
            rank = rank + (rank >= taken[:, earlier])
        chosen[:, j] = np.where(j < size, rank, -1)
        if j + 1 < picks:
            taken = np.sort(np.column_stack([taken, rank]), axis=1)
    return chosen


def walk_permutation(seed: int, name: str, *keys: int, size: int) -> Iterator[int]:
    """Yield the same permutation of range(size) as `permutation_prefix`, one by one.

    The random number of pick j is `hashes(seed, name, *keys, j)`.
    """
    taken: list[int] = []
    start = _start(seed, name, *keys)
    for j in range(size):
        unit = (_mix_one(((start + 0x9E3779B97F4A7C15) & _MASK) ^ _mix_one(j)) >> 11) * 2.0**-53
        rank = int(unit * (size - j))
        place = 0
        for place, earlier in enumerate(taken):  # noqa: B007
            if rank < earlier:
                break
            rank += 1
        else:
            place = len(taken)
        taken.insert(place, rank)
        yield rank


def _start(seed: int, name: str, *keys: int) -> int:
    state = keyed_hash(seed, name)
    for key in keys:
        state = _mix_one(((state + 0x9E3779B97F4A7C15) & _MASK) ^ _mix_one(key & _MASK))
    return state


def _mix(state: Hashes) -> Hashes:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = state ^ (state >> np.uint64(31))
    return mixed


def _mix_one(state: int) -> int:
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return state ^ (state >> 31)
