"""Load on the crowd server: many workers accept and submit at once; nothing lost, nothing twice.

Starts `collect serve` on a project of its own, publishes HITs, lets asynchronous clients on the
same machine work through the site's forms, then compares what was acknowledged with what the
requester protocol returns. Prints submissions per second, percentiles of a submit, and memory.

    python benchmarks/crowd_load.py --workers 200 --submissions 20000
    python benchmarks/crowd_load.py --database postgresql+psycopg://... --kill
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import boto3
from pairs_to_words.annotation.task_pages import page_question
from pairs_to_words.project.create import create_project
from pairs_to_words.project.layout import Layout

ASSIGNMENTS = 9
PAGE = '<form action="https://www.mturk.com/mturk/externalSubmit"><textarea name="w"></textarea>'


class Client:
    """One worker's keep-alive connection: just enough HTTP to leave the processor to the server."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None
        self.cookie = ""

    async def ask(self, method: str, path: str, form: dict[str, str] | None = None):
        if self.writer is None or self.reader is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        body = urlencode(form).encode() if form is not None else b""
        head = [
            f"{method} {path} HTTP/1.1",
            f"Host: {self.host}:{self.port}",
            "Accept: application/json",
            f"Content-Length: {len(body)}",
            "Content-Type: application/x-www-form-urlencoded",
        ]
        if self.cookie:
            head.append(f"Cookie: {self.cookie}")
        try:
            self.writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
            raw = await self.reader.readuntil(b"\r\n\r\n")
            lines = raw.decode("latin-1").split("\r\n")
            length = 0
            for line in lines[1:]:
                name, _, value = line.partition(": ")
                if name.lower() == "content-length":
                    length = int(value)
                elif name.lower() == "set-cookie":
                    self.cookie = value.partition(";")[0]
            content = await self.reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError):
            self.writer.close()
            self.reader = self.writer = None
            raise ConnectionError from None
        return int(lines[0].split()[1]), content


def serve(project: Layout, port: int, database: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "pairs_to_words.collect.main", "serve"]
    command += ["--project", str(project.root), "--port", str(port), "--database", database]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().split()[-1]


def requester(project: Layout, url: str):
    keys = json.loads((project.secrets / "crowd.json").read_text())
    client = boto3.client(
        "mturk",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=keys["access_key_id"],
        aws_secret_access_key=keys["secret_access_key"],
    )
    return client, keys["admin_token"]


def resident_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def work(
    client: Client,
    invitation: str,
    times: list[float],
    done: set[str],
    most: int,
    pause: float,
):
    """One worker: accept, think, submit, again; after a lost connection send the answer again."""
    pending = ""
    draw = random.Random(invitation)
    form: dict[str, str] = {}
    url = ""
    while len(done) < most:
        try:
            if not client.cookie:
                await client.ask("POST", urlsplit(invitation).path, {})
                _, content = await client.ask("GET", "/tasks")
                tasks = json.loads(content)
                if not tasks["groups"]:
                    return
                form, url = {"csrf": tasks["csrf"]}, tasks["groups"][0]["accept_url"]
            if not pending:
                status, content = await client.ask("POST", url, form)
                if status != 200:
                    return
                pending = json.loads(content)["assignment_id"]
                await asyncio.sleep(draw.uniform(0, 2 * pause))
            started = time.perf_counter()
            fields = {"assignmentId": pending, "w": "Animal 1 is brown, Animal 2 is not. " * 5}
            status, _ = await client.ask("POST", "/mturk/externalSubmit", fields)
            assert status == 200, status
            times.append(time.perf_counter() - started)
            done.add(pending)
            pending = ""
        except ConnectionError:
            await asyncio.sleep(0.2)


async def run(options: argparse.Namespace, project: Layout) -> None:
    process, url = serve(project, 0, options.database)
    port = urlsplit(url).port or 80
    mturk, token = requester(project, url)
    hits = -(-options.submissions // ASSIGNMENTS)
    for _ in range(hits):
        mturk.create_hit(
            Title="Load",
            Description="d",
            Reward="0.01",
            LifetimeInSeconds=36_000,
            AssignmentDurationInSeconds=3600,
            MaxAssignments=ASSIGNMENTS,
            Question=page_question(PAGE),
        )
    admin = Client("127.0.0.1", port)
    links = await invite(admin, token, options.workers)
    times: list[float] = []
    done: set[str] = set()
    before = resident_megabytes(process.pid)
    processor = processor_seconds(process.pid)
    pause = options.workers / options.rate if options.rate else 0.0
    started = time.perf_counter()
    workers = [
        work(Client("127.0.0.1", port), link, times, done, options.submissions, pause)
        for link in links
    ]
    tasks = [asyncio.create_task(worker) for worker in workers]
    if options.kill:
        for share in (0.25, 0.5, 0.75):
            while len(done) < share * options.submissions:
                await asyncio.sleep(0.01)
            process.kill()
            process.wait()
            process, url = serve(project, port, options.database)
    await asyncio.gather(*tasks)
    seconds = time.perf_counter() - started
    after = resident_megabytes(process.pid)
    used = processor_seconds(process.pid) - (0 if options.kill else processor)
    found = await asyncio.to_thread(collect_answers, mturk)
    process.terminate()
    process.wait()
    times.sort()
    print(f"submissions     {len(done):,} by {options.workers} workers in {seconds:.1f} s")
    print(f"cycles          {len(done) / seconds:.0f} accept + submit per second")
    if not options.kill:
        print(f"processor       {used / len(done) * 1000:.1f} ms of the server per cycle")
    for share in (0.5, 0.99, 0.999):
        print(f"submit p{share * 100:<6g} {times[int(len(times) * share)] * 1000:.1f} ms")
    print(f"memory          {before:.0f} MB before, {after:.0f} MB after")
    print(f"lost            {len(done - set(found))} of the acknowledged")
    print(f"twice           {len(found) - len(set(found))}")


async def invite(admin: Client, token: str, count: int) -> list[str]:
    body = json.dumps({"kind": "simulated", "labels": [f"load-{i}" for i in range(count)]}).encode()
    reader, writer = await asyncio.open_connection(admin.host, admin.port)
    writer.write(
        (
            f"POST /admin/invitations HTTP/1.1\r\nHost: {admin.host}:{admin.port}\r\n"
            f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        ).encode()
        + body
    )
    answer = await reader.read()
    writer.close()
    made = json.loads(answer.partition(b"\r\n\r\n")[2])
    return [one["url"] for one in made["invitations"]]


def collect_answers(mturk) -> list[str]:
    found = []
    for page in mturk.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 100}):
        for hit in page["HITs"]:
            answers = mturk.list_assignments_for_hit(HITId=hit["HITId"], MaxResults=100)
            found += [a["AssignmentId"] for a in answers["Assignments"]]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--submissions", type=int, default=20_000)
    parser.add_argument(
        "--rate", type=float, default=60, help="submissions per second of all workers; 0: no pause"
    )
    parser.add_argument("--database", default="", help="PostgreSQL URL; empty: SQLite")
    parser.add_argument("--kill", action="store_true", help="kill -9 the server three times")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = create_project(Path(folder) / "project", protocol="birds-to-words")
        asyncio.run(run(options, project))


if __name__ == "__main__":
    main()
