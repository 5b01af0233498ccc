"""Read published files by the name of their format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pairs_to_words.project.errors import UserError
from pairs_to_words.releases.formats.birds_to_words import read_birds_to_words
from pairs_to_words.releases.formats.nlvr2 import read_nlvr2
from pairs_to_words.releases.formats.reading import Published
from pairs_to_words.releases.formats.snli_ve import image_splits, read_snli_ve, splits_of

READERS = ("b2w-tsv", "nlvr2-json", "snli-ve-jsonl")


def read_published(
    format_name: str, files: Sequence[Path], lists: tuple[Path, Path] | None = None
) -> Published:
    """Read files of one of READERS.

    Args:
        lists: For SNLI: the published lists of test images and of all others. Without them the
            files must be SNLI-VE's own (`snli_ve_<split>.jsonl`), whose names say the split.

    Raises:
        UserError: No such format, or a file is not of it.
    """
    if format_name == "b2w-tsv":
        return read_birds_to_words(files)
    if format_name == "nlvr2-json":
        return read_nlvr2(files)
    if format_name == "snli-ve-jsonl":
        if lists is not None:
            return read_snli_ve(files, image_splits(*lists))
        return read_snli_ve(files, splits_of(files))
    raise UserError(f"There is no format {format_name!r}.", f"There are: {', '.join(READERS)}.")
