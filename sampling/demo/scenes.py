"""Scenes behind the birds, the flaws that clarity asks about, and the finished photograph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pairs_to_words.sampling.demo.draw import Pose, draw_bird, skeleton
from pairs_to_words.sampling.demo.traits import Look
from PIL import Image, ImageDraw, ImageFilter

SIDE = 224
"""Width and height of a finished photograph in pixels."""
CANVAS = 2 * SIDE
"""Drawn at twice the size and scaled down: smooth edges."""

FLAWS = ("several", "no_animal", "blurred", "hidden")
FLAW_WEIGHTS = (0.28, 0.12, 0.32, 0.28)
FLAW_RATE = 0.125
"""Share of photos with a flaw: two photos are both clear in 0.875^2 = 77 % of pairs.

With the slips of annotators about 70 % of pairs then pass clarity, as in the paper (69 %).
"""

# Habitat -> colours of the upper and lower background, and what the bird stands on.
_PALETTES: dict[str, tuple[tuple[int, int, int], tuple[int, int, int], str]] = {
    "water": ((150, 182, 204), (70, 108, 136), "water"),
    "shore": ((176, 196, 206), (172, 154, 124), "ground"),
    "forest": ((74, 104, 66), (46, 66, 42), "branch"),
    "grass": ((166, 188, 136), (104, 134, 70), "ground"),
    "branch": ((188, 204, 190), (132, 158, 120), "branch"),
    "sky": ((152, 190, 228), (206, 220, 232), "branch"),
}


@dataclass(frozen=True)
class Shot:
    """What one photograph shows: who, where, and which flaw (empty for none)."""

    look: Look
    flaw: str


def draw_flaw(rng: np.random.Generator) -> str:
    """Draw a photo's flaw: empty, or one of FLAWS."""
    if rng.random() >= FLAW_RATE:
        return ""
    return str(rng.choice(list(FLAWS), p=FLAW_WEIGHTS))


def photograph(shot: Shot, rng: np.random.Generator) -> Image.Image:
    """Return the finished photograph: SIDE x SIDE, RGB."""
    upper, lower, stand = _PALETTES[shot.look.habitat]
    canvas = _background(upper, lower, rng)
    mask = Image.new("L", canvas.size, 0)
    if shot.flaw == "no_animal":
        _draw_stand(canvas, stand, CANVAS * 0.68, upper, lower, rng)
    elif shot.flaw == "several":
        for _ in range(int(rng.integers(5, 9))):
            pose = _pose(shot.look, rng, small=True)
            mask.paste(255, mask=draw_bird(canvas, shot.look, pose, rng))
    else:
        pose = _pose(shot.look, rng)
        _draw_stand(canvas, stand, _feet(shot.look, pose), upper, lower, rng)
        mask = draw_bird(canvas, shot.look, pose, rng)
        if stand == "water":
            _draw_water_line(canvas, pose, lower, rng)
        if shot.flaw == "hidden":
            _hide(canvas, pose, rng)
    return _expose(canvas, mask, blurred=shot.flaw == "blurred", rng=rng)


def _pose(look: Look, rng: np.random.Generator, small: bool = False) -> Pose:
    """Place a bird so that all of it is in the picture; its size in the picture tells its size."""
    nod = float(rng.normal(0.85, 0.12))
    bones = skeleton(look, nod)
    behind, ahead = 0.82 + bones.tail, bones.head[0] + bones.head_radius + bones.bill
    above = bones.head[1] + 1.7 * bones.head_radius
    below = 0.8 * bones.girth + bones.legs + 0.2
    size = look.shape["body.size"]
    scale = CANVAS * (0.17 + 0.2 * size) * float(rng.normal(1.0, 0.03))
    scale = min(scale, 0.92 * CANVAS / (behind + ahead), 0.86 * CANVAS / (above + below))
    facing = int(rng.choice([-1, 1]))
    middle = 0.5 + rng.normal(0, 0.015, 2)
    if small:
        scale, middle = CANVAS * 0.085, rng.uniform(0.15, 0.85, 2)
    upright = 0.5 - 0.35 * look.shape["body.shape"] - 0.2 * look.shape["leg.length"]
    return Pose(
        centre=(
            CANVAS * float(middle[0]) + facing * scale * float(behind - ahead) / 2,
            CANVAS * float(middle[1]) + scale * float(above - below) / 2,
        ),
        scale=scale,
        tilt=float(rng.normal(upright * 0.6, 0.07)),
        facing=facing,
        nod=nod,
    )


def _feet(look: Look, pose: Pose) -> float:
    bones = skeleton(look, pose.nod)
    return min(pose.centre[1] + pose.scale * (0.8 * bones.girth + bones.legs + 0.12), CANVAS - 8)


def _background(
    upper: tuple[int, int, int], lower: tuple[int, int, int], rng: np.random.Generator
) -> Image.Image:
    """Return a soft, out-of-focus backdrop: a gradient with blobs of light and shade."""
    cells = 7
    gradient = np.linspace(0, 1, cells)[:, None, None]
    base = (1 - gradient) * np.array(upper) + gradient * np.array(lower)
    blobs = rng.normal(0, 1, (cells, cells, 1)) * 12 + rng.normal(0, 1, (cells, cells, 3)) * 3
    coarse = np.clip(base + blobs + rng.normal(0, 6, 3), 0, 255).astype(np.uint8)
    soft = Image.fromarray(coarse).resize((CANVAS // 4, CANVAS // 4), Image.Resampling.BICUBIC)
    return soft.resize((CANVAS, CANVAS), Image.Resampling.BILINEAR)


def _draw_stand(
    canvas: Image.Image,
    stand: str,
    level: float,
    upper: tuple[int, int, int],
    lower: tuple[int, int, int],
    rng: np.random.Generator,
) -> None:
    pen = ImageDraw.Draw(canvas)
    if stand == "branch":
        slope = rng.normal(0, 0.05)
        width = int(rng.integers(14, 24))
        ends = [(0, level + slope * CANVAS), (CANVAS, level - slope * CANVAS)]
        bark = tuple(int(c + rng.normal(0, 10)) for c in (92, 70, 52))
        pen.line(ends, fill=bark, width=width)
        pen.line([(x, y - width * 0.3) for x, y in ends], fill=(128, 102, 78), width=width // 4)
    elif stand == "ground":
        tone = tuple(int(c * 0.9) for c in lower)
        pen.rectangle([0, level - 6, CANVAS, CANVAS], fill=tone)
        for _ in range(60):
            x, y = rng.uniform(0, CANVAS), rng.uniform(level - 4, CANVAS)
            shade = float(rng.uniform(0.75, 1.15))
            ink = tuple(int(min(c * shade, 255)) for c in lower)
            pen.line([(x, y), (x + rng.normal(0, 6), y - rng.uniform(4, 22))], fill=ink, width=2)


def _draw_water_line(
    canvas: Image.Image, pose: Pose, lower: tuple[int, int, int], rng: np.random.Generator
) -> None:
    """Let the bird float: ripples in front of its lower body."""
    pen = ImageDraw.Draw(canvas)
    level = pose.centre[1] + pose.scale * 0.42
    for row in range(int(level), CANVAS, 7):
        depth = (row - level) / CANVAS
        shade = float(np.clip(rng.normal(1.0 - 0.3 * depth, 0.05), 0.6, 1.15))
        ink = tuple(int(min(c * shade, 255)) for c in lower)
        pen.line([(0, row), (CANVAS, row + rng.normal(0, 3))], fill=ink, width=8)


def _hide(canvas: Image.Image, pose: Pose, rng: np.random.Generator) -> None:
    """Cover most of the bird with leaves and stems."""
    pen = ImageDraw.Draw(canvas)
    for _ in range(95):
        x = pose.centre[0] + rng.normal(0, 0.8) * pose.scale
        y = pose.centre[1] + rng.normal(0, 0.55) * pose.scale
        long, wide = rng.uniform(0.2, 0.42) * pose.scale, rng.uniform(0.08, 0.16) * pose.scale
        angle = rng.uniform(0, np.pi)
        turn = np.linspace(0, 2 * np.pi, 14)
        leaf_x = x + long * np.cos(turn) * np.cos(angle) - wide * np.sin(turn) * np.sin(angle)
        leaf_y = y + long * np.cos(turn) * np.sin(angle) + wide * np.sin(turn) * np.cos(angle)
        green = (int(rng.uniform(40, 90)), int(rng.uniform(90, 140)), int(rng.uniform(35, 70)))
        pen.polygon(list(zip(leaf_x.tolist(), leaf_y.tolist(), strict=True)), fill=green)


def _expose(
    canvas: Image.Image, mask: Image.Image, *, blurred: bool, rng: np.random.Generator
) -> Image.Image:
    """Scale down, then add form shading and feather texture on the bird, light and grain."""
    body = np.asarray(mask.reduce(2), dtype=np.float32) / 255
    soft = mask.reduce(8).filter(ImageFilter.GaussianBlur(3))
    form = np.asarray(soft.resize((SIDE, SIDE), Image.Resampling.BILINEAR), dtype=np.float32) / 255
    light = np.roll(form, 9, axis=0) - np.roll(form, -9, axis=0)
    shade = 1 + body * (0.35 * light + 0.05 * _texture(rng) - 0.06 + 0.12 * form)
    tint = (rng.normal(1.0, 0.04) * (1 + rng.normal(0, 0.015, 3))).astype(np.float32)
    grain = rng.standard_normal((SIDE, SIDE), dtype=np.float32) * np.float32(2.0)
    finished: NDArray[np.float32] = np.array(canvas.reduce(2), dtype=np.float32)
    finished *= shade[..., None] * tint
    finished += grain[..., None]
    np.clip(finished, 0, 255, out=finished)
    photo = Image.fromarray(finished.astype(np.uint8))
    return photo.filter(ImageFilter.GaussianBlur(rng.uniform(6, 9))) if blurred else photo


def _texture(rng: np.random.Generator) -> NDArray[np.float32]:
    """Return fine, slanted streaks: barbs of feathers."""
    coarse = rng.standard_normal((SIDE // 2, SIDE // 4), dtype=np.float32)
    streaks = Image.fromarray(coarse, mode="F").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return np.asarray(streaks, dtype=np.float32)
