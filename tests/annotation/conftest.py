"""A project with a small sample and photos, a running crowd, and workers that answer pages."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
import requests
from pairs_to_words.annotation.server.run import Running, start_server
from pairs_to_words.project.config import load_config
from pairs_to_words.project.files import write_bytes, write_parquet
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.records import PAIRS, PHOTO_INDEX
from pairs_to_words.project.store.engine import open_store
from PIL import Image, ImageDraw
from sqlalchemy import Engine

PIVOTS, BRANCHES, PHOTOS = 3, 4, 8


def draw_photo(number: int) -> bytes:
    image = Image.new("RGB", (480, 360), (150 + number, 190, 210 - number))
    pen = ImageDraw.Draw(image)
    pen.ellipse((140, 110, 330, 250), fill=(20 * number, 60, 90))
    pen.ellipse((290, 70, 370, 150), fill=(20 * number, 60, 90))
    file = io.BytesIO()
    image.save(file, "JPEG")
    return file.getvalue()


@pytest.fixture
def sampled(project: Layout) -> Layout:
    """A project with 12 pairs of 8 photos."""
    photos = []
    for number in range(PHOTOS):
        data = draw_photo(number)
        digest = hashlib.sha256(data).hexdigest()
        write_bytes(project.photo_file(digest), data)
        photos.append(
            {
                "photo_id": number + 1,
                "sha256": digest,
                "phash": number,
                "width": 480,
                "height": 360,
                "bytes": len(data),
            }
        )
    write_parquet(
        project.photos / "index.parquet", pa.Table.from_pylist(photos, schema=PHOTO_INDEX)
    )
    pairs = [
        {
            "pair_id": f"p{pivot}-{branch}",
            "pivot_index": pivot,
            "pivot_photo_id": pivot + 1,
            "branch_photo_id": PIVOTS + branch + 1,
            "pivot_species_id": pivot,
            "branch_species_id": 100 + branch,
            "level_requested": "species",
            "level_actual": "species",
            "draw": branch,
            "distance": 0.5,
            "neighbour_rank": None,
        }
        for pivot in range(PIVOTS)
        for branch in range(BRANCHES)
    ]
    path = project.sample("main") / "pairs.parquet"
    write_parquet(path, pa.Table.from_pylist(pairs, schema=PAIRS))
    return project


@pytest.fixture
def state(sampled: Layout) -> Iterator[Engine]:
    """The project's state database."""
    engine = open_store(sampled, load_config(sampled.config))
    yield engine
    engine.dispose()


@pytest.fixture
def served(sampled: Layout) -> Iterator[Running]:
    """The project's crowd, running; `open_crowd(..., "local")` finds it."""
    with start_server(sampled) as running:
        yield running


Answer = Callable[[str, int, dict[str, Any]], dict[str, str]]


def fields_of(html: str, answer: Answer) -> dict[str, str]:
    """The form fields of a page: `answer(task, place, item)` gives those of one item."""
    [task] = re.findall(r'<body data-task="([^"]+)"', html)
    [data] = re.findall(r'<script type="application/json" id="items">(.*?)</script>', html)
    fields: dict[str, str] = {}
    for place, item in enumerate(json.loads(data)):
        given = answer(task, place, item)
        fields |= {f"{place}.{name}": value for name, value in given.items()}
    return fields


def usual(task: str, _place: int, _item: dict[str, Any]) -> dict[str, str]:
    return {
        "clarity": {"clear_1": "clear", "clear_2": "clear", "seconds": "4", "pastes": "0"},
        "writing": {"paragraph": "Animal 1 is brown while Animal 2 is black with a long bill."},
        "validation": {"label": "true"},
    }[task]


@pytest.fixture
def work(served: Running) -> Callable[..., int]:
    """Let simulated workers do everything there is: `work(5)`; returns submissions."""
    json_please = {"Accept": "application/json"}

    def do(count: int, answer: Answer = usual, limit: int = 10_000) -> int:
        made = requests.post(
            f"{served.url}/admin/invitations",
            json={"kind": "simulated", "labels": [f"w{i}" for i in range(count)]},
            headers={"Authorization": f"Bearer {served.keys.admin_token}"},
        ).json()["invitations"]
        done = 0
        for one in made:
            session = requests.Session()
            session.post(one["url"])
            tasks = session.get(f"{served.url}/tasks", headers=json_please).json()
            for group in tasks["groups"]:
                while done < limit:
                    form = {"csrf": tasks["csrf"]}
                    url = served.url + group["accept_url"]
                    taken = session.post(url, data=form, headers=json_please)
                    if not taken.ok:
                        break
                    html = session.get(served.url + taken.json()["frame_url"]).text
                    fields = {"assignmentId": taken.json()["assignment_id"]}
                    fields |= fields_of(html, answer)
                    sent = session.post(f"{served.url}/mturk/externalSubmit", data=fields)
                    assert sent.ok
                    done += 1
        return done

    return do
