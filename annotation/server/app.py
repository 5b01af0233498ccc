"""The ASGI application: the requester protocol and the worker site on one port."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files

from pairs_to_words.annotation.server import (
    admin,
    requester_pages,
    site_account,
    site_qualify,
    site_tasks,
    site_work,
    wire,
)
from pairs_to_words.annotation.server.body import TooLarge, Unreadable
from pairs_to_words.annotation.server.crowd import Crowd
from pairs_to_words.annotation.server.delivery import deliver_due
from pairs_to_words.annotation.server.pages import render, wants_json
from pairs_to_words.annotation.server.photos import photo
from pairs_to_words.annotation.server.sessions import Forged, NotSignedIn
from pairs_to_words.annotation.server.work import Refused
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

TICK_SECONDS = 1.0

_log = logging.getLogger(__name__)


def build_app(crowd: Crowd, allowed_hosts: Sequence[str]) -> Starlette:
    """Build the application for one crowd.

    Args:
        crowd: What it serves.
        allowed_hosts: Host names that requests may carry; others are refused, so that no page
            elsewhere can reach a server on somebody's own machine by rebinding a name.
    """
    app = Starlette(
        routes=_routes(),
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(allowed_hosts))],
        exception_handlers={
            NotSignedIn: _not_signed_in,
            Forged: _forged,
            Refused: _refused,
            TooLarge: _too_large,
            Unreadable: _unreadable,
            404: _not_found,
            405: _not_found,
            Exception: _broken,
        },
        lifespan=_lifespan,
    )
    app.state.crowd = crowd
    return app


def _routes() -> list[Route | Mount]:
    static = files("pairs_to_words.annotation.server") / "static"
    return [
        Route("/", _requester_call, methods=["POST"]),
        Route("/", site_tasks.home),
        Route("/healthz", admin.healthz),
        Route("/invite/{token}", site_tasks.invitation, methods=["GET", "POST"]),
        Route("/sign-out", site_tasks.sign_out, methods=["POST"]),
        Route("/tasks", site_tasks.tasks),
        Route("/tasks/{group_id}/accept", site_tasks.accept, methods=["POST"]),
        Route("/hits/{hit_id}/accept", site_tasks.accept_one, methods=["POST"]),
        Route("/preview/{group_id}", site_tasks.preview),
        Route("/preview/{group_id}/frame", site_tasks.preview_frame),
        Route("/work/{assignment_id}", site_work.work_page),
        Route("/work/{assignment_id}/draft", site_work.save_draft, methods=["POST"]),
        Route("/work/{assignment_id}/return", site_work.return_work, methods=["POST"]),
        Route("/frame/{assignment_id}", site_work.work_frame),
        Route("/mturk/externalSubmit", site_work.external_submit, methods=["POST"]),
        Route("/qualifications", site_qualify.listing),
        Route("/qualifications/{type_id}", site_qualify.one),
        Route("/qualifications/{type_id}/ask", site_qualify.ask, methods=["POST"]),
        Route("/tests/{request_id}", site_qualify.test_page, methods=["GET"]),
        Route("/tests/{request_id}", site_qualify.hand_in, methods=["POST"]),
        Route("/tests/{request_id}/frame", site_qualify.test_frame),
        Route("/history", site_account.history),
        Route("/earnings", site_account.earnings),
        Route("/messages", site_account.mailbox),
        Route("/photos/{sha256}", photo),
        Route("/admin/invitations", admin.create_invitations, methods=["POST"]),
        Route("/admin/status", admin.status),
        Route("/requester", admin.dashboard),
        Route("/requester/people", requester_pages.people, methods=["GET", "POST"]),
        Route("/requester/submissions", requester_pages.submissions),
        Route("/requester/submissions/{assignment_id}", requester_pages.decide, methods=["POST"]),
        Route("/requester/spending", requester_pages.spending),
        Route("/requester/sign-in", admin.sign_in, methods=["GET", "POST"]),
        Mount("/static", StaticFiles(directory=str(static))),
    ]


async def _requester_call(request: Request) -> Response:
    return await wire.answer(site_tasks.crowd_of(request), request)


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    running = [
        asyncio.create_task(_forever(work, app.state.crowd)) for work in (_settle, deliver_due)
    ]
    yield
    for task in running:
        task.cancel()


async def _settle(crowd: Crowd) -> None:
    """Let time pass while nobody calls: deadlines, expiry and auto-approval just happen."""
    await crowd.tick()


async def _forever(work: Callable[[Crowd], Awaitable[object]], crowd: Crowd) -> None:
    while True:
        try:
            await work(crowd)
        except Exception:
            _log.exception("%s failed; it is tried again", work.__name__)
        await asyncio.sleep(TICK_SECONDS)


def _problem(request: Request, status: int, title: str, words: str) -> Response:
    if wants_json(request):
        return JSONResponse({"error": words}, status)
    return render("problem.html", status, title=title, words=words)


async def _not_signed_in(request: Request, _error: Exception) -> Response:
    return _problem(
        request, 401, "Sign in first", "Open the invitation link that you were sent to sign in."
    )


async def _forged(request: Request, _error: Exception) -> Response:
    words = "This form did not come from this site, or you signed in again since. Go back, reload."
    return _problem(request, 403, "Not accepted", words)


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, Refused) else 409
    return _problem(request, status, "Not possible", str(error))


async def _too_large(request: Request, _error: Exception) -> Response:
    return _problem(request, 413, "Too large", "What you sent is larger than this site takes.")


async def _unreadable(request: Request, error: Exception) -> Response:
    return _problem(request, 400, "Not readable", str(error))


async def _not_found(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    return _problem(request, status, "Not found", "There is nothing at this address.")


async def _broken(request: Request, _error: Exception) -> Response:
    words = "Something went wrong on our side. What you had saved is still there; try again."
    return _problem(request, 500, "Our fault", words)
