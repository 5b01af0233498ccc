"""What a requester's command line tool saved: ListAssignmentsForHIT's JSON, answers as XML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring
from pairs_to_words.project.clock import iso
from pairs_to_words.project.errors import UserError
from pairs_to_words.qc.imports.finished_work import FinishedWork, clean, require
from pairs_to_words.qc.imports.submissions import Submission, parse_time, to_judgments

_EXPECTED = "Expected the JSON of ListAssignmentsForHIT: AssignmentId, WorkerId, HITId, Answer."
_LONGEST_ANSWER = 4 << 20  # characters of one answer document
_DEEPEST = 16  # an answer document has three levels


def read_requester_dump(
    path: Path, task: str, patterns: Sequence[str] = (), statuses: Sequence[str] = ()
) -> FinishedWork:
    """Read a JSON or JSON Lines file of assignments, or every such file in a folder.

    Raises:
        UserError: Not assignments, or an answer that is not the service's XML; the message names
            file and assignment.
    """
    files = sorted(p for p in path.rglob("*.json*") if p.is_file()) if path.is_dir() else [path]
    found = [
        submission
        for file in files
        for where, value in _objects(file)
        for submission in _submissions(where, value)
    ]
    if not found:
        raise UserError(f"{path}: no assignment in it.", _EXPECTED)
    found.sort(key=lambda one: (one.submitted_at, one.assignment_id))
    return to_judgments(found, task, f"import:requester-dump:{path.name}", patterns, statuses)


def _objects(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read as UTF-8 text: {error}.") from error
    try:
        yield str(file), json.loads(text)
        return
    except RecursionError as error:
        raise UserError(f"{file}: nested too deeply.", _EXPECTED) from error
    except json.JSONDecodeError:
        pass
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                yield f"{file} line {number}", json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                raise UserError(f"{file} line {number}: not valid JSON.", _EXPECTED) from error


def _submissions(where: str, value: Any) -> Iterator[Submission]:
    """Find assignments in one JSON value: itself, a list, or a reply with `Assignments`."""
    if isinstance(value, dict) and "AssignmentId" in value:
        yield _submission(where, value)
    elif isinstance(value, dict):
        for row in value.get("Assignments", []):
            yield from _submissions(where, row)
    elif isinstance(value, list):
        for row in value:
            yield from _submissions(where, row)


def _submission(where: str, row: dict[str, Any]) -> Submission:
    assignment = str(row["AssignmentId"])
    where = f"{where}, assignment {assignment}"
    accepted = _moment(where, row.get("AcceptTime"))
    submitted = _moment(where, row.get("SubmitTime"))
    seconds = None
    if accepted and submitted:
        span = datetime.fromisoformat(submitted) - datetime.fromisoformat(accepted)
        seconds = span.total_seconds()
    return Submission(
        where=where,
        hit_id=require(where, row, "HITId", str, _EXPECTED),
        assignment_id=assignment,
        worker_id=require(where, row, "WorkerId", str, _EXPECTED),
        status=str(row.get("AssignmentStatus", "")),
        submitted_at=submitted,
        work_seconds=seconds,
        answers=_answers(where, require(where, row, "Answer", str, _EXPECTED)),
        shown={},
    )


def _moment(where: str, value: Any) -> str:
    if isinstance(value, int | float):
        return iso(datetime.fromtimestamp(value, UTC))
    return parse_time(where, str(value or ""))


def _answers(where: str, document: str) -> dict[str, str]:
    if len(document) > _LONGEST_ANSWER:
        raise UserError(f"{where}: the answer has {len(document):,} characters.", _EXPECTED)
    if document.count("<") > 10 * _DEEPEST and _depth(document) > _DEEPEST:
        raise UserError(f"{where}: the answer is nested too deeply.", _EXPECTED)
    try:
        root = fromstring(document, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise UserError(f"{where}: the answer is not the service's XML ({error}).") from error
    found: dict[str, str] = {}
    for answer in root:
        parts = {part.tag.rsplit("}", 1)[-1]: part.text or "" for part in answer}
        name = parts.pop("QuestionIdentifier", "")
        value = next(iter(parts.values()), "")
        if name and value:
            found[name] = clean(value)
    return found


def _depth(document: str) -> int:
    """Return how deep tags nest; cheap, and never recursive."""
    deepest = depth = 0
    for piece in document.split("<")[1:]:
        if piece.startswith("/"):
            depth -= 1
        elif not piece.startswith(("?", "!")) and "/>" not in piece:
            depth += 1
            deepest = max(deepest, depth)
    return deepest
