"""The page on which a person reads the texts of a round and decides about each."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from importlib.resources import files
from urllib.parse import parse_qs

from jinja2 import Environment, StrictUndefined
from pairs_to_words.project.clock import Clock
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.layout import Layout
from pairs_to_words.qc.guidelines import SpeciesNames, check_text
from pairs_to_words.qc.review_round import DECISIONS, Round, decide_text, decisions_of
from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

_MOST_BODY = 64 * 1024


def review_app(
    engine: Engine,
    layout: Layout,
    round_: Round,
    reviewer: str,
    token: str,
    clock: Clock,
    names: SpeciesNames | None = None,
) -> Starlette:
    """Return the site: everything is under /<token>/, for one reviewer on this machine.

    The page shows photos, text and what the guideline checks say; never who wrote the text or
    what another reviewer decided.
    """
    by_id = {text.judgment_id: text for text in round_.texts}
    photos = {sha for text in round_.texts for sha in text.photos}
    source = (files("pairs_to_words.qc") / "templates" / "review.html").read_text("utf-8")
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(source)

    def page(wanted: int | None) -> Response:
        decided = decisions_of(engine, round_, reviewer)
        waiting = [i for i in by_id if i not in decided]
        current = wanted if wanted in by_id else (waiting[0] if waiting else None)
        text = by_id[current] if current is not None else None
        order = list(by_id)
        previous = None
        if current is not None and order.index(current):
            previous = order[order.index(current) - 1]
        elif current is None and order:
            previous = order[-1]
        nonce = secrets.token_urlsafe(16)
        html = template.render(
            round=round_.name,
            task=round_.task,
            total=len(by_id),
            done=len(decided),
            text=text,
            previous=previous,
            review=decided.get(current) if current is not None else None,
            findings=check_text(text.text, names=names) if text else [],
            decisions=DECISIONS,
            nonce=nonce,
        )
        policy = (
            f"default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; "
            f"script-src 'nonce-{nonce}'; form-action 'self'; frame-ancestors 'none'; "
            f"base-uri 'none'"
        )
        headers = {
            "Content-Security-Policy": policy,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
        }
        return HTMLResponse(html, headers=headers)

    async def show(request: Request) -> Response:
        wanted = request.query_params.get("text", "")
        return await run_in_threadpool(page, int(wanted) if wanted.isdecimal() else None)

    async def photo(request: Request) -> Response:
        sha = request.path_params["sha"]
        if sha not in photos:
            return Response("No such photo in this round.", status_code=404)
        return FileResponse(
            layout.photo_file(sha),
            media_type="image/jpeg",
            headers={"X-Content-Type-Options": "nosniff"},
        )

    async def decide(request: Request) -> Response:
        body = await request.body()
        if len(body) > _MOST_BODY:
            return Response("Too long.", status_code=413)
        form = {k: v[0] for k, v in parse_qs(body.decode("utf-8", "replace")).items()}
        judgment = form.get("judgment", "")
        try:
            if not judgment.isdecimal():
                raise UserError("No text was named.")
            decision, note = form.get("decision", ""), form.get("note", "")
            await run_in_threadpool(
                decide_text, engine, round_, int(judgment), reviewer, decision, note, clock
            )
        except UserError as error:
            return Response(str(error), status_code=400)
        return RedirectResponse("./", status_code=303)

    def under(path: str, endpoint: Callable[[Request], Awaitable[Response]], method: str) -> Route:
        return Route(f"/{token}/{path}", endpoint, methods=[method])

    return Starlette(
        routes=[
            under("", show, "GET"),
            under("photo/{sha}", photo, "GET"),
            under("decide", decide, "POST"),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"]),
        ],
    )
