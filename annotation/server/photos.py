"""Serve the project's photos by content hash, read-only."""

from __future__ import annotations

from pathlib import Path

from pairs_to_words.annotation.server.site_tasks import crowd_of
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.layout import photo_file
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

_SIGNATURES = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


async def photo(request: Request) -> Response:
    """Return one photo. Its address is its content, so it may be kept for ever."""
    folder = crowd_of(request).photos
    try:
        path = photo_file(folder, request.path_params["sha256"]) if folder else None
    except UserError:
        path = None
    kind = media_type(path) if path is not None and path.is_file() else None
    if path is None or kind is None:
        return PlainTextResponse("There is no such photo.", 404)
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable",
        "Access-Control-Allow-Origin": "*",  # task pages run in an origin of their own
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return FileResponse(path, headers=headers, media_type=kind)


def media_type(path: Path) -> str | None:
    """Return the media type that a file's first bytes show, None for what is no photo."""
    with path.open("rb") as file:
        start = file.read(12)
    return next((kind for sign, kind in _SIGNATURES if start.startswith(sign)), None)
