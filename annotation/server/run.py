"""Start and stop a crowd server for a project: its keys, its endpoint file, its one process."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO
from urllib.parse import urlsplit

import uvicorn
from pairs_to_words.annotation.money import to_cents
from pairs_to_words.annotation.server.app import build_app
from pairs_to_words.annotation.server.crowd import Crowd
from pairs_to_words.annotation.server.database import Database, open_database
from pairs_to_words.annotation.server.requester import create_access_key, create_requester
from pairs_to_words.annotation.server.tables import access_keys
from pairs_to_words.project.clock import Clock, iso, system_clock
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.files import read_json, write_json
from pairs_to_words.project.layout import Layout
from sqlalchemy import Engine, select

ENDPOINT = "endpoint.json"
KEYS = "crowd.json"
DATABASE = "server.db"
LOCK = "server.lock"
REQUESTER = "project"
OPENING_BALANCE = "100000.00"

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Keys:
    """What secrets/crowd.json holds."""

    access_key_id: str
    secret_access_key: str
    admin_token: str


@dataclass(frozen=True)
class Running:
    """A server that listens.

    Attributes:
        url: Its address.
        keys: How to talk to it.
        crowd: Its insides, for tests.
    """

    url: str
    keys: Keys
    crowd: Crowd


@contextmanager
def start_server(
    layout: Layout,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    database: str = "",
    public_url: str = "",
    opening_balance: str = OPENING_BALANCE,
    clock: Clock = system_clock,
) -> Iterator[Running]:
    """Serve a project's crowd from a thread until the block ends.

    Args:
        layout: The project.
        host: Address to listen on.
        port: Port; 0 takes a free one.
        database: URL of the crowd's database; empty means crowd/server.db.
        public_url: Where workers reach the site from outside, such as a TLS proxy's address.
        opening_balance: Play money of a new account, USD.
        clock: The time.

    Raises:
        CouldNotError: The port is taken, or this project is served already.
    """
    with prepare(
        layout,
        host=host,
        port=port,
        database=database,
        public_url=public_url,
        opening_balance=opening_balance,
        clock=clock,
    ) as (server, listener, running):
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            while not server.started and thread.is_alive():
                thread.join(0.01)
            yield running
        finally:
            server.should_exit = True
            thread.join()


def serve(
    layout: Layout,
    *,
    host: str,
    port: int,
    database: str,
    public_url: str,
    opening_balance: str,
    ready: Callable[[str], None],
    clock: Clock = system_clock,
) -> None:
    """Serve a project's crowd from this thread until the process is told to stop.

    `ready` is called with the address once it listens; the rest is as in `start_server`.
    """
    if not re.fullmatch(r"[0-9]+(\.[0-9]{1,2})?", opening_balance):
        raise UserError(
            f"The opening balance is {opening_balance!r}.", "Expected an amount such as 500.00."
        )
    if public_url and urlsplit(public_url).scheme not in ("http", "https"):
        raise UserError(f"The public URL is {public_url!r}.", "Expected http://... or https://...")
    with prepare(
        layout,
        host=host,
        port=port,
        database=database,
        public_url=public_url,
        opening_balance=opening_balance,
        clock=clock,
    ) as (server, listener, running):
        ready(running.url)
        server.run([listener])


@contextmanager
def prepare(
    layout: Layout,
    *,
    host: str,
    port: int,
    database: str,
    public_url: str,
    opening_balance: str,
    clock: Clock,
) -> Iterator[tuple[uvicorn.Server, socket.socket, Running]]:
    """Open everything that a server needs; close it in the right order at the end."""
    layout.crowd.mkdir(parents=True, exist_ok=True)
    with _alone(layout):
        engine = open_database(database or _sqlite_url(layout))
        keys = _keys(layout, engine, opening_balance, clock)
        listener = _listen(host, port)
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}"
        crowd = Crowd(
            database=Database(engine),
            clock=clock,
            admin_token=keys.admin_token,
            photos=layout.photos,
            public_url=public_url.rstrip("/"),
        )
        server = _Server(_uvicorn_config(crowd, _hosts(host, public_url)))
        endpoint = layout.crowd / ENDPOINT
        write_json(
            endpoint, {"endpoint": url, "pid": os.getpid(), "started_at": iso(system_clock())}
        )
        try:
            yield server, listener, Running(url, keys, crowd)
        finally:
            endpoint.unlink(missing_ok=True)
            listener.close()
            crowd.database.close()


class _Server(uvicorn.Server):
    """uvicorn's server, except that a signal to stop ends in our own clean-up.

    uvicorn raises the signal again once it has stopped, which would kill the process before the
    endpoint file is removed and the database closed.
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Turn SIGINT and SIGTERM into a graceful stop while the block runs."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _uvicorn_config(crowd: Crowd, hosts: list[str]) -> uvicorn.Config:
    return uvicorn.Config(
        build_app(crowd, hosts),
        log_level="warning",
        access_log=False,  # addresses hold invitation tokens and worker ids
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        limit_concurrency=2000,
        proxy_headers=True,
        forwarded_allow_ips="127.0.0.1",
    )


def _hosts(host: str, public_url: str) -> list[str]:
    hosts = [*LOOPBACK, "[::1]"]
    if host in ("0.0.0.0", "::"):
        return ["*"]  # the person chose to be reached from everywhere under any name
    hosts.append(host)
    if public_url and (name := urlsplit(public_url).hostname):
        hosts.append(name)
    return hosts


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise CouldNotError(
            f"Cannot listen on {host} port {port}: {error.strerror}.",
            "Stop what uses it, or choose another port with `--port N` (0 takes a free one).",
        ) from None
    return listener


@contextmanager
def _alone(layout: Layout) -> Iterator[None]:
    """Hold the project's lock: two servers would each cache what the other changes."""
    path = layout.crowd / LOCK
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _served_already(layout, file) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _served_already(layout: Layout, file: IO[str]) -> CouldNotError:
    file.seek(0)
    pid = file.read().strip() or "unknown"
    return CouldNotError(
        f"The crowd of {layout.root} is served already, by process {pid}.",
        "Use that one, or stop it first.",
    )


def _keys(layout: Layout, engine: Engine, opening_balance: str, clock: Clock) -> Keys:
    """Return the project's keys; make them, and the account behind them, the first time."""
    path = layout.secrets / KEYS
    now = int(clock().timestamp() * 1000)
    with engine.execution_options(writes=True).begin() as connection:
        row = connection.execute(select(access_keys)).mappings().first()
        if row is None:
            requester_id = create_requester(connection, REQUESTER, to_cents(opening_balance), now)
            key_id, secret = create_access_key(connection, requester_id)
        else:
            key_id, secret = row["access_key_id"], row["secret_access_key"]
    admin_token = read_json(path)["admin_token"] if path.exists() else secrets.token_urlsafe(32)
    keys = Keys(key_id, secret, admin_token)
    _write_secret(layout, keys)
    return keys


def _write_secret(layout: Layout, keys: Keys) -> None:
    layout.secrets.mkdir(mode=0o700, parents=True, exist_ok=True)
    layout.secrets.chmod(0o700)
    path = layout.secrets / KEYS
    content = {
        "access_key_id": keys.access_key_id,
        "secret_access_key": keys.secret_access_key,
        "admin_token": keys.admin_token,
    }
    if path.exists() and read_json(path) == content:
        return
    before = os.umask(0o077)
    try:
        write_json(path, content)
    finally:
        os.umask(before)


def _sqlite_url(layout: Layout) -> str:
    path = layout.crowd / DATABASE
    path.touch(mode=0o600)
    return f"sqlite:///{path}"
