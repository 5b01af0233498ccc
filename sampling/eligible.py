"""Which catalogue photos may be sampled: allowed licence, a file, an embedding."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pairs_to_words.sampling.funnel import Funnel


def eligible_photos(
    photos: pa.Table,
    funnel: Funnel,
    *,
    licenses: Collection[str],
    with_file: NDArray[np.int64] | None = None,
    embedded: NDArray[np.int64] | None = None,
) -> pa.Table:
    """Keep the photos that pass every rule; each rule adds a step to the funnel.

    Filters come before observations are counted (sampling definitions 5.3 no. 16).

    Args:
        photos: Schema `PHOTOS`; the catalogue has already dropped what is not research grade.
        funnel: Gets the steps.
        licenses: Allowed SPDX ids.
        with_file: Ids of photos that have a file; None asks for no file.
        embedded: Ids of photos that have an embedding; None asks for none.
    """
    funnel.add("photos: catalogue", kept=photos.num_rows, removed=0, why="photos of the catalogue")
    rules = [
        (
            "photos: licence",
            np.isin(photos["license"].to_numpy(zero_copy_only=False), sorted(licenses)),
            f"licence is none of {', '.join(licenses)}",
        )
    ]
    ids = photos["photo_id"].to_numpy()
    if with_file is not None:
        rules.append(("photos: file", np.isin(ids, with_file), "not downloaded"))
    if embedded is not None:
        rules.append(("photos: embedding", np.isin(ids, embedded), "not embedded"))
    good = np.ones(photos.num_rows, bool)
    for step, passes, why in rules:
        removed = int((good & ~passes).sum())
        good &= passes
        funnel.add(step, kept=int(good.sum()), removed=removed, why=why)
    return photos.filter(pa.array(good))
