"""Make identifiers: unguessable, in the alphabet and lengths of the real service."""

from __future__ import annotations

import secrets
from hashlib import sha256

from pairs_to_words.project.records import SIMULATED_WORKER_PREFIX

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_LENGTH = 30


def new_id() -> str:
    """Return a new entity id: `3` and 29 letters or digits (150 bits)."""
    return "3" + _letters(_LENGTH - 1)


def new_worker_id(*, simulated: bool) -> str:
    """Return a new worker id; only simulated annotators get the `ASIM` prefix."""
    if simulated:
        return SIMULATED_WORKER_PREFIX + _letters(10)
    while (worker_id := "A" + _letters(13)).startswith(SIMULATED_WORKER_PREFIX):
        pass
    return worker_id


def new_access_key_id() -> str:
    """Return a new access key id in AWS's form."""
    return "AKIA" + _letters(16)


def new_token() -> str:
    """Return a new URL-safe secret of 256 bits."""
    return secrets.token_urlsafe(32)


def new_completion_code() -> str:
    """Return a new code that a worker types into a panel's form: no 0, O, 1, I."""
    alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    return "".join(secrets.choice(alphabet) for _ in range(10))


def hash_token(token: str) -> str:
    """Return what is stored of a secret: a stolen database opens no session and no invitation."""
    return sha256(token.encode()).hexdigest()


def _letters(count: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(count))
