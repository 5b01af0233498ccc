"""Make a task's page: one self-contained HTML document for some items, and its HTMLQuestion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import PackageLoader, StrictUndefined, TemplateNotFound
from jinja2.sandbox import SandboxedEnvironment
from markupsafe import Markup
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import hash_value
from pairs_to_words.project.guidelines import rules_for_page
from pairs_to_words.project.protocol import Task
from pairs_to_words.project.records import Item

SCHEMA = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"
)
MOST_BYTES = 65_535
"""Of a Question in the MTurk protocol, white space included."""

FRAME_HEIGHT = 0
SUBMIT = "https://www.mturk.com/mturk/externalSubmit"
"""The protocol's address for answers; a compatible site puts its own in its place."""

ASSETS = ("page.css", "page.js", "frame.html")


def page_html(task_name: str, task: Task, items: Sequence[Item], photo_base: str = "") -> str:
    """Return the page of a task for some items.

    Args:
        task_name: The task's name in the protocol.
        task: Its declaration.
        items: What is shown, in this order; `data` holds photo hashes and texts.
        photo_base: What stands before `/photos/<sha256>`; empty on our own server.

    Raises:
        UserError: There is no such page.
    """
    try:
        template = _environment().get_template(task.page)
    except TemplateNotFound:
        raise UserError(
            f"The task {task_name} wants the page {task.page!r}, which is not there.",
            "Pages are in annotation/pages/.",
        ) from None
    shown = [_shown(item, photo_base) for item in items]
    least = max((field.min_words for field in task.fields), default=0)
    text = any(field.kind == "text" for field in task.fields)
    return template.render(
        task_name=task_name,
        task=task,
        items=shown,
        submit=SUBMIT,
        hourly=f"{task.reward * 3600 / task.estimated_seconds:.2f}",
        minutes=max(1, round(task.estimated_seconds / 60)),
        css=Markup(_asset("page.css")),
        script=Markup(_asset("page.js")),
        items_json=_json([{k: v for k, v in item.items() if k != "photos"} for item in shown]),
        rules_json=_json(rules_for_page(least)) if text else "null",
    )


def page_question(html: str) -> str:
    """Wrap a page into an HTMLQuestion.

    Raises:
        UserError: It is larger than the protocol allows.
    """
    safe = html.replace("]]>", "]]]]><![CDATA[>")
    question = (
        f'<HTMLQuestion xmlns="{SCHEMA}"><HTMLContent><![CDATA[{safe}]]></HTMLContent>'
        f"<FrameHeight>{FRAME_HEIGHT}</FrameHeight></HTMLQuestion>"
    )
    size = len(question.encode())
    if size > MOST_BYTES:
        raise UserError(
            f"The page has {size:,} bytes; a HIT's question may have {MOST_BYTES:,}.",
            "Use fewer items_per_hit in the protocol.",
        )
    return question


def page_hash(task: Task) -> str:
    """Return the hash of what a task's page is made of, items aside."""
    return hash_value([_asset(name) for name in (task.page, *ASSETS)])


def _shown(item: Item, photo_base: str) -> dict[str, Any]:
    shown = {"item_id": item.item_id, **item.data}
    shown["photos"] = [f"{photo_base}/photos/{item.data[key]}" for key in ("sha256_1", "sha256_2")]
    return shown


def _json(value: object) -> Markup:
    # `<` escaped: no text in an item can end the script element that holds it.
    return Markup(json.dumps(value, ensure_ascii=True, sort_keys=True).replace("<", "\\u003c"))


@cache
def _environment() -> SandboxedEnvironment:
    return SandboxedEnvironment(
        loader=PackageLoader("pairs_to_words.annotation", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _asset(name: str) -> str:
    path = files("pairs_to_words.annotation") / "pages" / name
    return path.read_text(encoding="utf-8")
