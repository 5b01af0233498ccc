"""Let simulated annotators work on the local crowd: through the worker site, as people do.

Each one signs in by its own invitation, accepts HITs, reads the page and sends its form. Turns are
drawn by a keyed seed, one request after another, so who does which HIT can be repeated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urljoin

import requests
from pairs_to_words.annotation.simulated_answers import SimulatedWorker, World, answer_item
from pairs_to_words.project.errors import CouldNotError
from pairs_to_words.project.progress import Progress, no_progress
from pairs_to_words.project.protocol import Task
from pairs_to_words.project.seeds import keyed_rng

_ITEMS = re.compile(r'<script type="application/json" id="items">(.*?)</script>', re.DOTALL)
_JSON = {"Accept": "application/json"}


@dataclass
class Visitor:
    """One simulated worker's browser: its session and the form token of the site."""

    worker: SimulatedWorker
    worker_id: str
    session: requests.Session
    csrf: str = field(default="", repr=False)
    accept_url: str = ""
    sent: int = 0


def simulate_task(
    endpoint: str,
    admin_token: str,
    task: Task,
    workers: Sequence[SimulatedWorker],
    world: World,
    seed: int,
    progress: Progress = no_progress,
) -> list[Visitor]:
    """Work until no worker finds a HIT of `task` any more.

    Args:
        endpoint: The running local crowd.
        admin_token: Its administrator's token; invitations are made with it.
        task: The task to look for, by its title in the task list.
        workers: Who works.
        world: What is really in the photos.
        seed: Seed of turns and answers.

    Returns:
        The workers, each with the number of submissions it sent.

    Raises:
        CouldNotError: The server is gone or refuses a step; the message has its words.
    """
    visitors = _sign_in(endpoint, admin_token, workers)
    rng = keyed_rng(seed, "turns", task.title)
    with progress(f"simulate: {task.title}", total=None, unit="submission") as advance:
        active = visitors
        while active:
            still = []
            for index in rng.permutation(len(active)):
                visitor = active[int(index)]
                if _work_once(endpoint, visitor, task, world, seed):
                    visitor.sent += 1
                    still.append(visitor)
                    advance(1)
            active = sorted(still, key=lambda visitor: visitor.worker.label)
    return visitors


def _sign_in(endpoint: str, admin_token: str, workers: Sequence[SimulatedWorker]) -> list[Visitor]:
    answer = _checked(
        requests.post(
            f"{endpoint}/admin/invitations",
            json={"kind": "simulated", "labels": [worker.label for worker in workers]},
            headers={"Authorization": f"Bearer {admin_token}"},
            timeout=30,
        )
    )
    visitors = []
    for worker, invitation in zip(workers, answer.json()["invitations"], strict=True):
        session = requests.Session()
        _checked(session.post(invitation["url"], timeout=30))
        visitors.append(Visitor(worker, invitation["worker_id"], session))
    return visitors


def _work_once(endpoint: str, visitor: Visitor, task: Task, world: World, seed: int) -> bool:
    """Accept one HIT, fill in its page and send it; False when there is none for this worker."""
    if not visitor.accept_url:
        listed = _checked(visitor.session.get(f"{endpoint}/tasks", headers=_JSON, timeout=30))
        visitor.csrf = listed.json()["csrf"]
        groups = [g for g in listed.json()["groups"] if g["title"] == task.title]
        if not groups:
            return False
        visitor.accept_url = groups[0]["accept_url"]
    accepted = visitor.session.post(
        urljoin(endpoint, visitor.accept_url),
        data={"csrf": visitor.csrf},
        headers=_JSON,
        timeout=30,
    )
    if accepted.status_code == 409:  # nothing left for this worker
        visitor.accept_url = ""
        return False
    work = _checked(accepted).json()
    page = _checked(visitor.session.get(urljoin(endpoint, work["frame_url"]), timeout=30)).text
    form = {
        "assignmentId": work["assignment_id"],
        **fill_in(page, visitor.worker, task, world, seed),
    }
    _checked(
        visitor.session.post(
            f"{endpoint}/mturk/externalSubmit", data=form, headers=_JSON, timeout=30
        )
    )
    return True


def fill_in(
    page: str, worker: SimulatedWorker, task: Task, world: World, seed: int
) -> dict[str, str]:
    """Return the form fields of a page as `worker` fills it in: `<position>.<field>` per item."""
    found = _ITEMS.search(page)
    if found is None:
        raise CouldNotError("The page has no list of items.", "Was it made by another program?")
    form: dict[str, str] = {}
    for position, item in enumerate(json.loads(found[1])):
        answers = answer_item(task, item, worker, world, seed)
        form |= {f"{position}.{name}": value for name, value in answers.items()}
    return form


def _checked(answer: requests.Response) -> requests.Response:
    if answer.status_code >= 400:
        raise CouldNotError(
            f"The crowd server answered {answer.status_code}: {answer.text[:200]}",
            "See its log; the same command again continues.",
        )
    return answer
