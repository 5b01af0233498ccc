"""Turn a release on disk, a folder of photos and an encoder into what a run learns from."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pairs_to_words.project.files import hash_file
from pairs_to_words.releases.read import open_release
from pairs_to_words.sampling.embed import grid_features, load_encoder
from pairs_to_words.training.run import Source


def open_source(
    release: Path, photos: Path, features: Path, encoder: str, *, checkpoint: Path | None = None
) -> Source:
    """Open a release for training.

    Args:
        release: Folder of the release; its checksums are checked.
        photos: Folder with ab/cd/<sha256>.
        features: Cache of grid features, one folder per encoder.
        encoder: timm name of the frozen encoder.
        checkpoint: Its weights; None takes the packaged ones.

    Raises:
        UserError: No such release, or a damaged one; the message names the file.
        CouldNotError: The encoder's weights are not to be had.
    """
    opened = open_release(release)
    loaded = load_encoder(encoder, checkpoint=checkpoint)
    return Source(
        release=opened.version,
        release_hash=hash_file(release / "MANIFEST.json"),
        paragraphs=pa.concat_tables([opened.rows(split) for split in opened.splits]),
        photos=photos,
        features=features,
        encoder=dict(loaded.identity),
        encode=lambda files: grid_features(files, loaded),
    )
