"""A requester's question inside our page: the frame's address, its HTML, what is put into it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from pairs_to_words.annotation.server.crowd import Crowd
from pairs_to_words.annotation.server.pages import FRAME_POLICY, FRAME_SANDBOX, secure
from pairs_to_words.annotation.server.questions import Question
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

NOT_AVAILABLE = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT_PATH = "/mturk/externalSubmit"

_AMAZON_SUBMIT = re.compile(
    r"https?://(?:www|workersandbox)\.mturk\.com/mturk/externalSubmit", re.IGNORECASE
)
_STAND_INS = tuple(
    (re.compile(rf"(?:https?:)?//{re.escape(address)}"), address.rpartition("/")[2])
    for address in (
        "s3.amazonaws.com/mturk-public/externalHIT_v1.js",
        "assets.crowd.aws/crowd-html-elements.js",
    )
)
_PLACES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (r"<head(?:\s[^>]*)?>", r"<html(?:\s[^>]*)?>", r"<!doctype[^>]*>")
)
"""Where our script goes: first in the head, else as early as the page allows."""


def origin_of(request: Request) -> str:
    """Return the origin that workers reach this site at."""
    crowd: Crowd = request.app.state.crowd
    return crowd.public_url or f"{request.url.scheme}://{request.url.netloc}"


def outer_source(
    request: Request,
    question: Question,
    path: str,
    hit: Mapping[str, Any],
    assignment: Mapping[str, Any] | None,
) -> dict[str, str]:
    """Return the `src` and `sandbox` of the frame that shows a question.

    Args:
        request: For the site's origin.
        question: What is shown.
        path: Our own address of the frame, for questions that we serve.
        hit: The HIT.
        assignment: The accepted assignment, None in a preview.
    """
    parameters = {
        "assignmentId": assignment["assignment_id"] if assignment else NOT_AVAILABLE,
        "hitId": hit["hit_id"],
    }
    if assignment:
        parameters |= {"workerId": assignment["worker_id"], "turkSubmitTo": origin_of(request)}
    if question.kind != "external":
        return {"src": f"{path}?{urlencode(parameters)}", "sandbox": FRAME_SANDBOX}
    separator = "&" if urlsplit(question.content).query else "?"
    sandbox = FRAME_SANDBOX
    if urlsplit(question.content).netloc != request.headers.get("host"):
        sandbox += " allow-same-origin"  # the requester's own origin, never ours
    return {"src": f"{question.content}{separator}{urlencode(parameters)}", "sandbox": sandbox}


def frame_response(
    request: Request,
    question: Question,
    hit_id: str,
    assignment: Mapping[str, Any] | None,
    draft: str,
) -> Response:
    """Return the document inside the frame."""
    if question.kind == "form":
        from pairs_to_words.annotation.server.form_page import form_html

        html = form_html(question.content, preview=assignment is None)
    else:
        html = question.content
    assignment_id = assignment["assignment_id"] if assignment else ""
    submit_to = origin_of(request) + SUBMIT_PATH
    settings = {
        "assignmentId": assignment_id or NOT_AVAILABLE,
        "hitId": hit_id,
        "submitTo": submit_to,
        "draft": json.loads(draft) if draft else None,
    }
    return frame_page(equip(html, settings, f"{submit_to}?assignmentId={assignment_id}"))


def frame_page(html: str) -> Response:
    """Return a document that may only run inside our pages, in an origin of its own."""
    response = HTMLResponse(html)
    secure(response, FRAME_POLICY)
    return response


def equip(html: str, settings: Mapping[str, Any], action: str) -> str:
    """Put our script into a page and let its form and its scripts point at this server."""
    html = _AMAZON_SUBMIT.sub(action, html)
    for pattern, name in _STAND_INS:
        html = pattern.sub(f"/static/{name}", html)
    # `<` escaped: no text in a draft can end the script element.
    data = json.dumps(settings).replace("<", "\\u003c")
    script = f'<script>window.__crowd={data};</script><script src="/static/frame.js"></script>'
    found = [match.end() for pattern in _PLACES if (match := pattern.search(html))]
    place = found[0] if found else 0
    return html[:place] + script + html[place:]
