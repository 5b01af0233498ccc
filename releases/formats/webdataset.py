"""WebDataset shards of a release: `<key>.json`, `<key>.txt` and photos that may be copied.

A tar of the same rows has the same bytes everywhere: entries are sorted and carry no time or user.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from pathlib import Path
from typing import Any

from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import hash_file
from pairs_to_words.project.layout import photo_file
from pairs_to_words.releases.read import Release

ROWS_PER_SHARD = 10_000

# Licences that let everybody copy the unchanged file; the attribution travels in the JSON.
COPIED = re.compile(r"(CC0-1\.0|PDM-1\.0|CC-BY(-NC)?(-SA|-ND)?-[234]\.0)")

_PNG = b"\x89PNG"


def write_webdataset(release: Release, folder: Path, photos: Path | None = None) -> list[Path]:
    """Write `<split>-000000.tar` and so on; photos are copied from a project's photos/ folder.

    Raises:
        UserError: A photo's file is there but has another SHA-256 than the release says.
    """
    written = []
    for split in release.splits:
        rows = release.rows(split).to_pylist()
        for number, start in enumerate(range(0, max(len(rows), 1), ROWS_PER_SHARD)):
            path = folder / f"{split}-{number:06d}.tar"
            with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
                for row in rows[start : start + ROWS_PER_SHARD]:
                    _add_row(tar, release, row, photos)
            written.append(path)
    return written


def _add_row(
    tar: tarfile.TarFile, release: Release, row: dict[str, Any], photos: Path | None
) -> None:
    # WebDataset takes all after the first dot for the extension.
    key = re.sub(r"[^A-Za-z0-9_-]", "_", row["row_id"])
    line = json.dumps(row, sort_keys=True, ensure_ascii=False)
    _add(tar, f"{key}.json", line.encode())
    _add(tar, f"{key}.txt", row[release.kind.text].encode())
    if photos is None or "photo_1_sha256" not in row:
        return
    for side in (1, 2):
        digest = row[f"photo_{side}_sha256"]
        file = photo_file(photos, digest)
        if not COPIED.fullmatch(row[f"photo_{side}_license"]) or not file.is_file():
            continue
        if hash_file(file) != digest:
            raise UserError(f"{file} has changed since the release.", "Fetch the photo again.")
        content = file.read_bytes()
        kind = "png" if content.startswith(_PNG) else "jpg"
        _add(tar, f"{key}.{side}.{kind}", content)


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))
