"""Draw one bird: silhouette, plumage, patterns and soft parts from a `Look`, onto a scene."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pairs_to_words.sampling.demo.traits import COLOURS, Look
from PIL import Image, ImageDraw

Points = NDArray[np.float64]
Rgb = tuple[int, int, int]
Place = Callable[[Points], list[tuple[float, float]]]

DARK: Rgb = (30, 28, 30)
PALE: Rgb = (238, 234, 222)


@dataclass(frozen=True)
class Pose:
    """Where and how a bird stands in the picture.

    Attributes:
        centre: Middle of the body, in pixels of the canvas.
        scale: Half the body's length, in pixels.
        tilt: Angle of the body above horizontal, in radians.
        facing: 1 looks right, -1 looks left.
        nod: Angle of the neck above the body's axis, in radians.
    """

    centre: tuple[float, float]
    scale: float
    tilt: float
    facing: int
    nod: float


@dataclass(frozen=True)
class Skeleton:
    """The main points of a bird in its own frame: x forward, y up, half body length 1."""

    girth: float
    head: Points
    head_radius: float
    neck_root: Points
    bill: float
    tail: float
    legs: float


def skeleton(look: Look, nod: float) -> Skeleton:
    """Lay out a bird's proportions from its numeric traits (each in [0, 1])."""
    shape = look.shape
    girth = 0.36 + 0.26 * shape["body.shape"]
    radius = 0.40 - 0.10 * shape["body.size"] - 0.06 * shape["neck.length"]
    root = np.array([0.72, 0.5 * girth])
    reach = 0.02 + 1.35 * max(shape["neck.length"] - 0.12, 0.0) + 0.55 * radius
    head = root + reach * np.array([np.cos(nod), np.sin(nod)])
    return Skeleton(
        girth=girth,
        head=head,
        head_radius=radius,
        neck_root=root,
        bill=radius * (0.55 + 2.7 * shape["bill.length"] ** 1.3),
        tail=0.35 + 1.35 * shape["tail.length"],
        legs=0.12 + 1.5 * shape["leg.length"] ** 1.2,
    )


def draw_bird(canvas: Image.Image, look: Look, pose: Pose, rng: np.random.Generator) -> Image.Image:
    """Draw a bird onto `canvas` (RGB, changed in place); return the mask of its body (mode L)."""
    bones = skeleton(look, pose.nod)
    colour = {part: _vary(COLOURS[name], rng) for part, name in look.colour.items()}

    def place(points: Points) -> list[tuple[float, float]]:
        return _place(points, pose)

    mask = Image.new("L", canvas.size, 0)
    _draw_legs(ImageDraw.Draw(canvas), bones, colour["leg"], pose)
    _draw_tail(ImageDraw.Draw(canvas), bones, look, colour["tail"], place)
    outline = ImageDraw.Draw(mask)
    body = _ellipse(0, 0, 1.0, bones.girth)
    outline.polygon(place(body), fill=255)
    outline.polygon(place(_neck(bones)), fill=255)
    outline.polygon(place(_circle(bones.head, bones.head_radius)), fill=255)
    plumage = Image.new("RGB", canvas.size, colour["belly"])
    _paint_plumage(ImageDraw.Draw(plumage), bones, look, colour, place, rng)
    canvas.paste(plumage, mask=mask)
    pen = ImageDraw.Draw(canvas)
    _draw_wing(pen, bones, look, colour, place)
    _draw_crest(pen, bones, look, colour["crown"], place)
    _draw_bill(pen, bones, look, colour["bill"], place)
    _draw_face(pen, bones, look, place, pose)
    return mask


def _paint_plumage(
    pen: ImageDraw.ImageDraw,
    bones: Skeleton,
    look: Look,
    colour: dict[str, Rgb],
    place: Place,
    rng: np.random.Generator,
) -> None:
    girth, head, radius = bones.girth, bones.head, bones.head_radius
    breast = colour["breast"]
    pen.polygon(place(_ellipse(0.62, -0.02, 0.62, girth * 1.15)), fill=breast)
    pen.polygon(place(_neck(bones, 1.4)), fill=breast)
    pen.polygon(place(_circle(head, radius * 1.2)), fill=breast)
    back = np.array(
        [
            [-1.2, 0.02],
            [-0.4, 0.12 * girth],
            [0.5, 0.45 * girth],
            [0.72, 0.75 * girth],
            [0.7, 2.0],
            [-1.2, 2.0],
        ]
    )
    pen.polygon(place(back), fill=colour["back"])
    _pattern_breast(pen, bones, look.category["breast.pattern"], breast, place, rng)
    cap = _ellipse(head[0] - 0.12 * radius, head[1] + 0.62 * radius, radius * 1.25, radius * 0.72)
    pen.polygon(place(cap), fill=colour["crown"])


def _pattern_breast(
    pen: ImageDraw.ImageDraw,
    bones: Skeleton,
    pattern: str,
    ground: Rgb,
    place: Place,
    rng: np.random.Generator,
) -> None:
    if pattern == "plain":
        return
    ink = DARK if sum(ground) > 270 else PALE
    girth = bones.girth
    for x in np.linspace(0.05, 1.05, 10):
        for y in np.linspace(-0.95, 0.15, 7):
            px = x + (0.05 if round((y + 0.95) / 0.18) % 2 else 0) + rng.normal(0, 0.012)
            py = y * girth + rng.normal(0, 0.012)
            if pattern == "streaked":
                pen.polygon(place(_ellipse(px, py, 0.014, 0.075)), fill=ink)
            elif pattern == "spotted":
                pen.polygon(place(_ellipse(px, py, 0.034, 0.034)), fill=ink)
            else:
                pen.polygon(place(_ellipse(px, py, 0.07, 0.017)), fill=ink)


def _draw_wing(
    pen: ImageDraw.ImageDraw, bones: Skeleton, look: Look, colour: dict[str, Rgb], place: Place
) -> None:
    girth = bones.girth
    top, low = 0.42 * girth, -0.38 * girth
    wing = np.array(
        [
            [0.5, 0.1 * girth],
            [0.36, top],
            [0.0, top * 1.2],
            [-0.5, top * 0.8],
            [-1.12, 0.02],
            [-0.6, low * 0.5],
            [-0.1, low],
            [0.3, low * 0.8],
        ]
    )
    smooth = _smooth(wing)
    pen.polygon(place(smooth), fill=colour["wing"])
    edge = tuple(int(c * 0.72) for c in colour["wing"])
    for end in (-0.95, -0.8, -0.62):
        line = np.array([[0.05, low * 0.35], [end, -0.02]])
        pen.line(place(line), fill=edge, width=2)
    pen.line(place(np.vstack([smooth, smooth[:1]])), fill=edge, width=2)
    if look.category["wing.pattern"] == "barred":
        ink = PALE if sum(colour["wing"]) < 560 else DARK
        for x in (0.22, -0.06):
            bar = np.array([[x + 0.06, top * 0.85], [x, 0.1 * girth], [x + 0.02, low * 0.62]])
            pen.line(place(_curve(bar)), fill=ink, width=7, joint="curve")


def _draw_tail(
    pen: ImageDraw.ImageDraw, bones: Skeleton, look: Look, colour: Rgb, place: Place
) -> None:
    long, wide = bones.tail, 0.15 + 0.05 * bones.tail
    root, end = -0.82, -0.82 - bones.tail
    if look.category["tail.shape"] == "forked":
        outline = [[root, 0.14], [end, wide + 0.12], [end + 0.42 * long, 0.0], [end, -wide - 0.12]]
        tail = np.array([*outline, [root, -0.14]])
    else:
        fan = [[end + 0.06 * np.cos(a) - 0.02, wide * np.sin(a)] for a in np.linspace(1.5, -1.5, 9)]
        tail = np.array([[root, 0.14], *fan, [root, -0.14]])
    droop = np.array([[1.0, 0.0], [0.16, 1.0]])
    tail = (tail - [root, 0.0]) @ droop + [root, 0.0]
    pen.polygon(place(tail), fill=colour)
    edge = tuple(int(c * 0.7) for c in colour)
    pen.line(place(np.vstack([tail, tail[:1]])), fill=edge, width=2)
    pen.line(place(np.array([[root, 0.0], tail[len(tail) // 2]])), fill=edge, width=2)


def _draw_legs(pen: ImageDraw.ImageDraw, bones: Skeleton, colour: Rgb, pose: Pose) -> None:
    width = max(int(pose.scale * 0.045), 3)
    for x in (-0.12, 0.14):
        hip = _place(np.array([[x, -bones.girth * 0.8]]), pose)[0]
        foot = (hip[0] + pose.facing * pose.scale * 0.05, hip[1] + pose.scale * (bones.legs + 0.1))
        pen.line([hip, foot], fill=colour, width=width)
        for toe in (0.2, 0.08, -0.12):
            tip = (foot[0] + pose.facing * pose.scale * toe, foot[1] + pose.scale * 0.05)
            pen.line([foot, tip], fill=colour, width=max(width - 2, 2))


def _draw_bill(
    pen: ImageDraw.ImageDraw, bones: Skeleton, look: Look, colour: Rgb, place: Place
) -> None:
    (x, y), radius, long = bones.head, bones.head_radius, bones.bill
    root = x + 0.82 * radius
    kind = look.category["bill.shape"]
    if kind == "cone":
        outline = [[root, y + 0.42 * radius], [root + long, y - 0.02], [root, y - 0.46 * radius]]
    elif kind == "hooked":
        tip = root + long
        outline = [[root, y + 0.34 * radius], [tip - 0.15 * radius, y + 0.26 * radius]]
        outline += [[tip + 0.08 * radius, y - 0.02], [tip - 0.02, y - 0.52 * radius]]
        outline += [[tip - 0.3 * radius, y - 0.1 * radius], [root, y - 0.24 * radius]]
    elif kind == "curved":
        along = np.linspace(0, 1, 8)
        drop = 0.42 * long * along**2
        thick = 0.22 * radius * (1 - along)
        upper = np.column_stack([root + long * along, y - drop + thick])
        lower = np.column_stack([root + long * along, y - drop - thick])[::-1]
        outline = [list(point) for point in np.vstack([upper, lower])]
    else:
        outline = [[root, y + 0.2 * radius], [root + long, y], [root, y - 0.2 * radius]]
    points = place(np.array(outline))
    pen.polygon(points, fill=colour)
    pen.line([*points, points[0]], fill=tuple(int(c * 0.6) for c in colour), width=2)


def _draw_crest(
    pen: ImageDraw.ImageDraw, bones: Skeleton, look: Look, colour: Rgb, place: Place
) -> None:
    if look.category["head.crest"] == "none":
        return
    (x, y), radius = bones.head, bones.head_radius
    crest = np.array(
        [
            [x + 0.35 * radius, y + 0.85 * radius],
            [x - 0.5 * radius, y + 1.95 * radius],
            [x - 0.55 * radius, y + 1.3 * radius],
            [x - 1.35 * radius, y + 1.45 * radius],
            [x - 0.9 * radius, y + 0.45 * radius],
        ]
    )
    pen.polygon(place(crest), fill=colour)


def _draw_face(
    pen: ImageDraw.ImageDraw, bones: Skeleton, look: Look, place: Place, pose: Pose
) -> None:
    (x, y), radius = bones.head, bones.head_radius
    ex, ey = x + 0.34 * radius, y + 0.16 * radius
    pattern = look.category["face.pattern"]
    if pattern == "eye stripe":
        # A pale edge keeps the dark marks of a face visible under a dark cap.
        stripe = np.array([[x + 0.95 * radius, ey - 0.06 * radius], [x - 0.85 * radius, ey + 0.02]])
        width = max(int(pose.scale * radius * 0.22), 3)
        pen.line(place(stripe), fill=PALE, width=width * 2)
        pen.line(place(stripe), fill=DARK, width=width)
    elif pattern == "mask":
        middle = (ex - 0.02, ey - 0.04)
        pen.polygon(place(_ellipse(*middle, radius * 0.74, radius * 0.48)), fill=PALE)
        pen.polygon(place(_ellipse(*middle, radius * 0.62, radius * 0.36)), fill=DARK)
    elif pattern == "eye ring":
        pen.polygon(place(_ellipse(ex, ey, radius * 0.36, radius * 0.36)), fill=PALE)
    pen.polygon(place(_ellipse(ex, ey, radius * 0.2, radius * 0.2)), fill=(120, 70, 20))
    pen.polygon(place(_ellipse(ex, ey, radius * 0.14, radius * 0.14)), fill=(12, 10, 12))
    gleam = _ellipse(ex + 0.05 * radius, ey + 0.06 * radius, radius * 0.05, radius * 0.05)
    pen.polygon(place(gleam), fill=(255, 255, 255))


def _neck(bones: Skeleton, widen: float = 1.0) -> Points:
    along = bones.head - bones.neck_root
    along = along / max(float(np.hypot(*along)), 1e-6)
    across = np.array([-along[1], along[0]])
    wide, thin = 0.62 * bones.girth * widen, 0.72 * bones.head_radius * widen
    root, head = bones.neck_root - 0.25 * along, bones.head
    return np.array(
        [root + across * wide, head + across * thin, head - across * thin, root - across * wide]
    )


def _circle(centre: Points, radius: float) -> Points:
    return _ellipse(float(centre[0]), float(centre[1]), radius, radius)


def _ellipse(x: float, y: float, a: float, b: float, steps: int = 40) -> Points:
    angle = np.linspace(0, 2 * np.pi, steps, endpoint=False)
    return np.column_stack([x + a * np.cos(angle), y + b * np.sin(angle)])


def _smooth(corners: Points) -> Points:
    """Round a closed polygon's corners (Chaikin's corner cutting, three rounds)."""
    for _ in range(3):
        following = np.roll(corners, -1, axis=0)
        cut = np.stack([0.75 * corners + 0.25 * following, 0.25 * corners + 0.75 * following], 1)
        corners = cut.reshape(-1, 2)
    return corners


def _curve(points: Points) -> Points:
    """Return a quadratic Bezier through the hull of three points."""
    t = np.linspace(0, 1, 10)[:, None]
    curve: Points = (1 - t) ** 2 * points[0] + 2 * (1 - t) * t * points[1] + t**2 * points[2]
    return curve


def _place(points: Points, pose: Pose) -> list[tuple[float, float]]:
    cosine, sine = np.cos(pose.tilt), np.sin(pose.tilt)
    turn = np.array([[cosine, sine], [-sine, cosine]])
    turned = points @ turn * pose.scale
    x = pose.centre[0] + pose.facing * turned[:, 0]
    y = pose.centre[1] - turned[:, 1]
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _vary(colour: Rgb, rng: np.random.Generator) -> Rgb:
    """Return a colour as one bird wears it: a little lighter or darker, a little off in hue."""
    shade = rng.normal(1.0, 0.05)
    red, green, blue = (
        int(np.clip(channel * shade + rng.normal(0, 4), 0, 255)) for channel in colour
    )
    return red, green, blue
