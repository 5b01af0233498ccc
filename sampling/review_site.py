"""The page of `collect review`, on loopback: four photos, keys 1 to 4, 0 for none, U to undo."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn
from jinja2 import Environment
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.sampling.review import Question, ReviewQueue
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class ReviewSite:
    """A running review page.

    Attributes:
        url: Its address; the path holds a random key, without which nothing is shown or decided.
    """

    url: str


def review_app(
    queue: ReviewQueue,
    names: Mapping[int, str],
    photo_files: Mapping[int, Path],
    key: str,
    reviewer: str,
    on_change: Callable[[], object] = lambda: None,
) -> Starlette:
    """Build the page and its three calls (next, decide, undo), all under `/<key>/`.

    Args:
        queue: Questions and decisions.
        names: Species id -> name.
        photo_files: Photo id -> file.
        key: Secret part of the address.
        reviewer: Who reviews when the page does not say.
        on_change: Called after each decision.
    """
    environment = Environment(autoescape=True)
    template = environment.from_string(
        (files("pairs_to_words.sampling") / "templates" / "review.html").read_text("utf-8")
    )

    def state(question: Question | None) -> JSONResponse:
        shown = None
        if question is not None:
            shown = {
                "species_id": question.species_id,
                "name": names.get(question.species_id, ""),
                "photos": [f"photos/{photo}" for photo in question.photo_ids],
            }
        return JSONResponse(
            {"question": shown, "counts": queue.counts(), "done": queue.done()},
            headers={"Cache-Control": "no-store"},
        )

    async def page(request: Request) -> Response:
        return HTMLResponse(template.render(reviewer=reviewer), headers=_HEADERS)

    async def upcoming(request: Request) -> Response:
        return state(queue.next_for(_name(request.query_params.get("reviewer"), reviewer)))

    async def decide(request: Request) -> Response:
        body = await _body(request)
        who = _name(body.get("reviewer"), reviewer)
        try:
            queue.decide(who, int(body["species_id"]), int(body["choice"]))
        except (KeyError, TypeError, ValueError):
            return JSONResponse({"error": "species_id and choice are needed."}, status_code=400)
        except UserError as error:
            return JSONResponse({"error": str(error)}, status_code=409)
        on_change()
        return state(queue.next_for(who))

    async def undo(request: Request) -> Response:
        who = _name((await _body(request)).get("reviewer"), reviewer)
        try:
            question = queue.undo(who)
        except UserError as error:
            return JSONResponse({"error": str(error)}, status_code=409)
        on_change()
        return state(question)

    async def photo(request: Request) -> Response:
        file = photo_files.get(int(request.path_params["photo"]))
        if file is None or not file.exists():
            return Response(status_code=404)
        return FileResponse(file, media_type=_media_type(file), headers=_HEADERS)

    routes = [
        Route(f"/{key}/", page),
        Route(f"/{key}/next", upcoming),
        Route(f"/{key}/decide", decide, methods=["POST"]),
        Route(f"/{key}/undo", undo, methods=["POST"]),
        Route(f"/{key}/photos/{{photo:int}}", photo),
    ]
    # A page of another site that resolves its own name to loopback has another Host header.
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    return Starlette(routes=routes, middleware=[hosts])


@contextmanager
def running(
    queue: ReviewQueue,
    names: Mapping[int, str],
    photo_files: Mapping[int, Path],
    *,
    port: int = 0,
    reviewer: str = "reviewer",
    on_change: Callable[[], object] = lambda: None,
) -> Iterator[ReviewSite]:
    """Serve the page on 127.0.0.1 while the block runs.

    Raises:
        CouldNotError: The port is taken.
    """
    key = secrets.token_urlsafe(16)
    listener = socket.socket()
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        raise CouldNotError(f"Port {port} is taken.", "Choose another with --port.") from error
    app = review_app(queue, names, photo_files, key, reviewer, on_change)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield ReviewSite(f"http://127.0.0.1:{listener.getsockname()[1]}/{key}/")
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listener.close()


def _name(given: object, default: str) -> str:
    text = "".join(c for c in str(given or "") if c.isprintable()).strip()
    return text[:60] or default


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _media_type(file: Path) -> str:
    with file.open("rb") as opened:
        start = opened.read(12)
    if start.startswith(b"\x89PNG"):
        return "image/png"
    if start.startswith(b"GIF8"):
        return "image/gif"
    return "image/webp" if start[8:12] == b"WEBP" else "image/jpeg"
