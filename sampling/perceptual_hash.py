"""A 64-bit perceptual hash: photos that look alike differ in few bits."""

from __future__ import annotations

import numpy as np
from PIL import Image
from scipy.fft import dctn

SIDE = 8


def perceptual_hash(photo: Image.Image) -> int:
    """Return the DCT hash (pHash) of a photo: signs of the 64 lowest frequencies to their median.

    Compare two with `(a ^ b).bit_count()`: 0 to 4 is a near-duplicate.
    """
    grey = photo.convert("L").resize((4 * SIDE, 4 * SIDE), Image.Resampling.LANCZOS)
    low = dctn(np.asarray(grey, dtype=np.float64), norm="ortho")[:SIDE, :SIDE].ravel()
    # The first coefficient is the mean brightness, which says nothing about content.
    bits = low > np.median(low[1:])
    return int(np.packbits(bits).view(">u8")[0])
