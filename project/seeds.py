"""Randomness by key: the same seed and key give the same draw, whatever ran before."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

Key = str | int


def keyed_hash(seed: int, *key: Key) -> int:
    """Return a 64-bit unsigned hash of `seed` and `key`, equal on every machine and run.

    Parts are length-prefixed and typed, so `("a", "bc")` and `("ab", "c")` differ, as do 1 and "1".
    """
    digest = blake2b(digest_size=8)
    for part in (seed, *key):
        text = f"{type(part).__name__[0]}{part}".encode()
        digest.update(len(text).to_bytes(4, "little") + text)
    return int.from_bytes(digest.digest(), "little")


def keyed_rng(seed: int, *key: Key) -> np.random.Generator:
    """Return a generator of its own for `key`: draws do not change when other keys are added."""
    return np.random.default_rng(np.random.SeedSequence(keyed_hash(seed, *key)))
