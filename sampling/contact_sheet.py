"""Lay photos out in titled rows on one JPEG: a look at many photos at once."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from pairs_to_words.project.errors import CouldNotError
from pairs_to_words.project.files import write_bytes
from PIL import Image, ImageDraw, ImageFont, ImageOps

_PAPER, _INK, _FAINT = (255, 255, 255), (34, 34, 34), (110, 110, 110)
_GAP, _LINE = 6, 16
_MISSING = (225, 225, 225)


def write_contact_sheet(
    path: Path,
    rows: Sequence[Sequence[tuple[Path, str]]],
    titles: Sequence[str],
    *,
    cell: int = 160,
) -> None:
    """Write one row of captioned photos under each title.

    Args:
        path: The JPEG to write (atomically).
        rows: Photos of each row as (file, caption); rows may differ in length. A file that is not
            there leaves a grey cell.
        titles: One title per row; an empty title takes no space.
        cell: Side of a photo cell in pixels.

    Raises:
        CouldNotError: A file is no readable photo; the message names it.
        ValueError: As many titles as rows are needed.
    """
    if len(titles) != len(rows):
        raise ValueError(f"{len(titles)} titles for {len(rows)} rows")
    font, bold = _font(12), _font(14)
    columns = max((len(row) for row in rows), default=0)
    step = cell + _GAP
    heights = [step + _LINE + (_LINE + _GAP if title else 0) for title in titles]
    size = (max(columns * step + _GAP, step), sum(heights) + 2 * _GAP)
    sheet = Image.new("RGB", size, _PAPER)
    draw = ImageDraw.Draw(sheet)
    top = _GAP
    for title, row, height in zip(titles, rows, heights, strict=True):
        below = top
        if title:
            draw.text((_GAP, top), title, fill=_INK, font=bold)
            below += _LINE + _GAP
        for column, (file, caption) in enumerate(row):
            left = _GAP + column * step
            sheet.paste(_thumbnail(file, cell), (left, below))
            text = _fit(draw, caption, cell, font)
            draw.text((left, below + cell + 1), text, fill=_FAINT, font=font)
        top += height
    buffer = BytesIO()
    sheet.save(buffer, "JPEG", quality=88)
    write_bytes(path, buffer.getvalue())


def thumbnail_jpeg(file: Path, cell: int, quality: int = 80) -> bytes:
    """Return a square thumbnail of a photo as JPEG bytes, for pages that stand alone.

    Raises:
        CouldNotError: The file is no readable photo.
    """
    buffer = BytesIO()
    _thumbnail(file, cell).save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def _thumbnail(file: Path, cell: int) -> Image.Image:
    if not file.exists():
        return Image.new("RGB", (cell, cell), _MISSING)
    try:
        with Image.open(file) as photo:
            photo.draft("RGB", (2 * cell, 2 * cell))
            upright = ImageOps.exif_transpose(photo).convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise CouldNotError(f"{file} is no readable photo: {error}.") from error
    return ImageOps.fit(upright, (cell, cell), Image.Resampling.BICUBIC)


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return DejaVu Sans, which matplotlib ships: Pillow's own font has no accented letters."""
    found = find_spec("matplotlib")
    if found is not None and found.origin is not None:
        file = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
        if file.exists():
            return ImageFont.truetype(file, size)
    return ImageFont.load_default(size)


def _fit(
    draw: ImageDraw.ImageDraw,
    text: str,
    width: int,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
) -> str:
    """Shorten a caption to the width of its cell."""
    if draw.textlength(text, font=font) <= width:
        return text
    while text and draw.textlength(text + "…", font=font) > width:
        text = text[:-1]
    return text + "…"
