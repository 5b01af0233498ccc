"""Who is signed in: sessions, invitations, and the token that every posted form must carry."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from pairs_to_words.annotation.server.crowd import Crowd
from pairs_to_words.annotation.server.ids import hash_token, new_token, new_worker_id
from pairs_to_words.annotation.server.tables import invitations, sessions, workers
from sqlalchemy import Connection, delete, insert, select
from starlette.requests import Request
from starlette.responses import Response

COOKIE = "collect_session"
LIFE_MS = 30 * 86_400_000
CACHED = 10_000

PERSON = "person"
SIMULATED = "simulated"


@dataclass(frozen=True)
class Session:
    """One signed-in browser.

    Attributes:
        worker_id: The worker, or None for the requester.
        csrf: What posted forms must repeat.
        expires_at: Milliseconds since 1970 UTC.
    """

    worker_id: str | None
    csrf: str
    expires_at: int


class NotSignedIn(Exception):
    """There is no session, or not one of the right kind."""


class Forged(Exception):
    """A form did not come from our own page."""


async def open_session(crowd: Crowd, request: Request, worker_id: str | None) -> str:
    """Make a new session (never an id that the browser brought) and return its token."""
    token, csrf = new_token(), new_token()
    old = request.cookies.get(COOKIE)

    def work(connection: Connection, now: int) -> Session:
        connection.execute(delete(sessions).where(sessions.c.expires_at < now))
        if old:
            connection.execute(delete(sessions).where(sessions.c.session_hash == hash_token(old)))
        session = Session(worker_id, csrf, now + LIFE_MS)
        connection.execute(
            insert(sessions).values(
                session_hash=hash_token(token),
                worker_id=worker_id,
                csrf=csrf,
                created_at=now,
                expires_at=session.expires_at,
            )
        )
        return session

    session = await crowd.write(work)
    if old:
        crowd.sessions.pop(hash_token(old), None)
    _remember(crowd, hash_token(token), session)
    return token


def set_cookie(response: Response, request: Request, token: str) -> None:
    """Give the browser its session: out of scripts' reach, not sent from other sites' forms."""
    response.set_cookie(
        COOKIE,
        token,
        max_age=LIFE_MS // 1000,
        path="/",
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


async def close_session(crowd: Crowd, request: Request) -> None:
    """Forget a session."""
    token = request.cookies.get(COOKIE)
    if token:
        found = sessions.c.session_hash == hash_token(token)
        await crowd.write(
            lambda connection, _now: connection.execute(delete(sessions).where(found))
        )
        crowd.sessions.pop(hash_token(token), None)


async def current_session(crowd: Crowd, request: Request) -> Session | None:
    """Return the request's session, None when nobody is signed in."""
    token = request.cookies.get(COOKIE)
    if not token:
        return None
    session_hash = hash_token(token)
    session = crowd.sessions.get(session_hash)
    if session is None:
        query = select(sessions).where(sessions.c.session_hash == session_hash)
        row = await crowd.read(
            lambda connection, _now: connection.execute(query).mappings().one_or_none()
        )
        if row is None:
            return None
        session = Session(row["worker_id"], row["csrf"], row["expires_at"])
        _remember(crowd, session_hash, session)
    return session if session.expires_at > crowd.now() else None


async def worker_session(crowd: Crowd, request: Request) -> tuple[str, Session]:
    """Return the signed-in worker.

    Raises:
        NotSignedIn: Nobody is, or it is the requester.
    """
    session = await current_session(crowd, request)
    if session is None or session.worker_id is None:
        raise NotSignedIn
    return session.worker_id, session


def check_csrf(request: Request, session: Session, fields: Iterable[tuple[str, str]]) -> None:
    """Refuse a form that another site could have made.

    Raises:
        Forged: The token is missing or wrong, or the form's origin is not ours.
    """
    given = request.headers.get("x-csrf-token") or next(
        (value for name, value in fields if name == "csrf"), ""
    )
    if not hmac.compare_digest(given.encode(), session.csrf.encode()):
        raise Forged
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Forged


def invite(connection: Connection, now: int, *, kind: str, label: str) -> tuple[str, str]:
    """Make a link's token for a worker; a new worker the first time a label is used.

    Returns:
        The worker id and the token.
    """
    query = select(workers.c.worker_id).where(workers.c.kind == kind, workers.c.label == label)
    worker_id: str | None = connection.execute(query).scalar_one_or_none()
    if worker_id is None:
        worker_id = new_worker_id(simulated=kind == SIMULATED)
        connection.execute(
            insert(workers).values(worker_id=worker_id, kind=kind, label=label, created_at=now)
        )
    token = new_token()
    connection.execute(
        insert(invitations).values(
            token_hash=hash_token(token), worker_id=worker_id, created_at=now, expires_at=None
        )
    )
    return worker_id, token


async def invited_worker(crowd: Crowd, token: str) -> str | None:
    """Return the worker whom an invitation token signs in, None when it is not valid."""
    query = select(invitations).where(invitations.c.token_hash == hash_token(token))

    def work(connection: Connection, now: int) -> str | None:
        row = connection.execute(query).mappings().one_or_none()
        if row is None or (row["expires_at"] is not None and row["expires_at"] <= now):
            return None
        return str(row["worker_id"])

    return await crowd.read(work)


def _remember(crowd: Crowd, session_hash: str, session: Session) -> None:
    if len(crowd.sessions) >= CACHED:
        crowd.sessions.pop(next(iter(crowd.sessions)))
    crowd.sessions[session_hash] = session
