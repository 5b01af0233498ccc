"""Write a release in another format: one table of formats, each a function of its own file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import atomic_directory, write_json
from pairs_to_words.releases.croissant import CROISSANT, croissant
from pairs_to_words.releases.formats.birds_to_words import write_birds_to_words
from pairs_to_words.releases.formats.nlvr2 import write_nlvr2
from pairs_to_words.releases.formats.snli_ve import write_snli_ve
from pairs_to_words.releases.formats.webdataset import write_webdataset
from pairs_to_words.releases.read import Release

FORMATS = ("b2w-tsv", "nlvr2-json", "snli-ve-jsonl", "hf", "croissant", "webdataset")

_NEEDS = {"nlvr2-json": "nlvr2", "snli-ve-jsonl": "snli-ve"}


def export_release(
    release: Release, format_name: str, target: Path, *, photos: Path | None = None
) -> list[Path]:
    """Write the release into the new folder `target`; return the files.

    Args:
        photos: A project's photos/ folder, for `webdataset`.

    Raises:
        UserError: No such format, rows of another kind, or `target` is there.
    """
    if format_name not in FORMATS:
        raise UserError(f"There is no format {format_name!r}.", f"There are: {', '.join(FORMATS)}.")
    needed = _NEEDS.get(format_name)
    if needed and release.kind.name != needed:
        raise UserError(
            f"{format_name} is for rows of kind {needed}; this release has {release.kind.name}.",
            "Use b2w-tsv, hf, croissant or webdataset.",
        )
    writers: dict[str, Callable[[Release, Path], list[Path]]] = {
        "b2w-tsv": write_birds_to_words,
        "nlvr2-json": write_nlvr2,
        "snli-ve-jsonl": write_snli_ve,
        "hf": _write_hf,
        "croissant": _write_croissant,
        "webdataset": lambda r, folder: write_webdataset(r, folder, photos),
    }
    with atomic_directory(target) as folder:
        written = writers[format_name](release, folder)
    return [target / path.relative_to(folder) for path in written]


def _write_hf(release: Release, folder: Path) -> list[Path]:
    """Copy what a dataset repository on the Hugging Face Hub holds: card, data, attributions."""
    names = [n for n in release.manifest["files"] if not n.startswith("provenance/")]
    return _copy(release, folder, names)


def _write_croissant(release: Release, folder: Path) -> list[Path]:
    """Write croissant.json anew beside copies of the data files that it describes."""
    names = [n for n in release.manifest["files"] if n.startswith("data/")]
    files = {name: release.manifest["files"][name] for name in names}
    write_json(folder / CROISSANT, croissant(release.manifest, release.kind, files))
    return [folder / CROISSANT, *_copy(release, folder, names)]


def _copy(release: Release, folder: Path, names: list[str]) -> list[Path]:
    for split in release.splits:
        release.rows(split)  # refuses rows that were removed since
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(release.path / name, folder / name)
    return [folder / name for name in names]
