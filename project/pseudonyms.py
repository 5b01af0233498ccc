"""Names for workers that reports and releases may show: stable in a project, not reversible."""

from __future__ import annotations

import hmac
import os
import secrets
from hashlib import sha256
from pathlib import Path

from pairs_to_words.project.layout import Layout


def pseudonym_key(layout: Layout) -> bytes:
    """Return the project's secret for pseudonyms, made at first use (mode 600).

    Two processes that start at once agree: the file is linked into place, never overwritten.
    """
    path = layout.secrets / "pseudonym.key"
    if not path.exists():
        layout.secrets.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            _write_private(temporary, secrets.token_hex(32))
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            temporary.unlink(missing_ok=True)
    return bytes.fromhex(path.read_text(encoding="ascii").strip())


def pseudonym(key: bytes, worker_id: str) -> str:
    """Return the name that reports and releases show for a worker, such as `w-3f9a1c07b2`."""
    return f"w-{hmac.new(key, worker_id.encode(), sha256).hexdigest()[:10]}"


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
