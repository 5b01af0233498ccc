"""kill -9: what was acknowledged is there, once, and the same server starts again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
from pairs_to_words.project.layout import Layout

JSON = {"Accept": "application/json"}
ROUNDS = 3


class ServerProcess:
    """`collect serve` as a process of its own, on the same port each time."""

    def __init__(self, project: Layout) -> None:
        self.project = project
        self.port = 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        command = [sys.executable, "-m", "pairs_to_words.collect.main", "serve"]
        command += ["--project", str(self.project.root), "--port", str(self.port)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("Listening on "), line
        url = line.split()[-1]
        self.port = int(url.rsplit(":", 1)[1])
        return url

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def client(project: Layout, url: str) -> Any:
    keys = json.loads((project.secrets / "crowd.json").read_text())
    return boto3.client(
        "mturk",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=keys["access_key_id"],
        aws_secret_access_key=keys["secret_access_key"],
    )


def submit_until_killed(url: str, todo: list[str], acknowledged: list[str]) -> None:
    session = requests.Session()
    while todo:
        try:
            assignment = todo.pop()
        except IndexError:
            return
        try:
            answer = session.post(
                f"{url}/mturk/externalSubmit",
                data={"assignmentId": assignment, "words": f"text of {assignment}"},
                headers=JSON,
                timeout=10,
            )
        except requests.RequestException:
            todo.append(assignment)  # its fate is unknown: the page would send it again
            return
        if answer.status_code == 200:
            acknowledged.append(assignment)


def test_no_acknowledged_submit_is_lost_or_doubled(project: Layout, question: str) -> None:
    server = ServerProcess(project)
    url = server.start()
    hit_count, workers = 40, 8
    mturk = client(project, url)
    hits = [
        mturk.create_hit(
            Title="t",
            Description="d",
            Reward="0.01",
            LifetimeInSeconds=3600,
            AssignmentDurationInSeconds=3600,
            MaxAssignments=workers,
            Question=question,
        )["HIT"]["HITId"]
        for _ in range(hit_count)
    ]
    todo = accept_everything(project, url, workers)
    assert len(todo) == hit_count * workers
    acknowledged: list[str] = []
    draw = random.Random(0)
    for _ in range(ROUNDS):
        threads = [
            threading.Thread(target=submit_until_killed, args=(url, todo, acknowledged))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        time.sleep(draw.uniform(0.03, 0.12))
        server.kill()
        for thread in threads:
            thread.join()
        assert url == server.start()
    killed_early = len(todo)
    submit_until_killed(url, todo, acknowledged)
    found = [
        assignment
        for hit in hits
        for assignment in mturk.list_assignments_for_hit(HITId=hit, MaxResults=100)["Assignments"]
    ]
    server.kill()
    assert killed_early > 0, "every submit was over before a kill: nothing was tested"
    assert len(found) == len({a["AssignmentId"] for a in found}) == hit_count * workers
    assert set(acknowledged) <= {a["AssignmentId"] for a in found}
    assert all(f"text of {a['AssignmentId']}" in a["Answer"] for a in found)


def accept_everything(project: Layout, url: str, workers: int) -> list[str]:
    token = json.loads((project.secrets / "crowd.json").read_text())["admin_token"]
    made = requests.post(
        f"{url}/admin/invitations",
        json={"kind": "simulated", "labels": [f"w{i}" for i in range(workers)]},
        headers={"Authorization": f"Bearer {token}"},
    ).json()["invitations"]
    accepted = []
    for one in made:
        session = requests.Session()
        session.post(one["url"])
        tasks = session.get(f"{url}/tasks", headers=JSON).json()
        [group] = tasks["groups"]
        form = {"csrf": tasks["csrf"]}
        in_hand = []
        while (answer := session.post(url + group["accept_url"], data=form, headers=JSON)).ok:
            in_hand.append(answer.json()["assignment_id"])
            if len(in_hand) == 25:  # the most that one worker can have in hand
                break
        accepted += in_hand
        finish_some(url, session, group, form, in_hand, accepted)
    return accepted


def finish_some(
    url: str, session: requests.Session, group: Any, form: Any, held: list[str], out: list[str]
) -> None:
    """Submit what one worker holds beyond the limit, so that every HIT gets every worker."""
    while held:
        done = held.pop(0)
        fields = {"assignmentId": done, "words": f"text of {done}"}
        requests.post(f"{url}/mturk/externalSubmit", data=fields, headers=JSON)
        answer = session.post(url + group["accept_url"], data=form, headers=JSON)
        if not answer.ok:
            return
        out.append(answer.json()["assignment_id"])


def test_a_second_server_for_the_same_project_is_refused(project: Layout) -> None:
    server = ServerProcess(project)
    server.start()
    assert server.process is not None
    pid = server.process.pid
    command = [sys.executable, "-m", "pairs_to_words.collect.main", "serve", "--port", "0"]
    second = subprocess.run(
        [*command, "--project", str(project.root)], capture_output=True, text=True, timeout=60
    )
    assert second.returncode == 1
    assert f"process {pid}" in second.stderr
    assert "Traceback" not in second.stderr
    os.kill(pid, signal.SIGTERM)
    assert server.process.wait(timeout=30) in (0, -signal.SIGTERM)
    assert not (project.crowd / "endpoint.json").exists()


@pytest.mark.parametrize("name", ["crowd.json"])
def test_keys_are_for_the_owner_only(project: Layout, name: str) -> None:
    server = ServerProcess(project)
    server.start()
    server.kill()
    for path in (project.secrets / name, project.crowd / "server.db"):
        assert Path(path).stat().st_mode & 0o077 == 0
