"""Where a project stands: each stage's state in one line, and the command to type next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pairs_to_words.project.config import Config
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.manifest import read_manifest
from pairs_to_words.project.protocol import ProtocolDeclaration
from pairs_to_words.project.store.judgments import count_judgments
from pairs_to_words.project.store.tables import assignments, batches, hits, verdicts
from sqlalchemy import Connection, func, select

DONE = "done"
PARTLY = "partly"
NOT_YET = "not yet"


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline in this project.

    Attributes:
        name: `catalog`, `embed`, `sample`, a task, `audit`, `release` or `train`.
        state: `done`, `partly` or `not yet`.
        summary: What is there, with numbers.
        next: The command that takes this stage further; empty when nothing is left to do.
    """

    name: str
    state: str
    summary: str
    next: str = ""


def standing(
    layout: Layout, config: Config, protocol: ProtocolDeclaration, connection: Connection
) -> list[Stage]:
    """Return the stages of a project in pipeline order."""
    return [
        *_sampling_stages(layout, config),
        *_task_stages(protocol, connection),
        _audit_stage(layout, connection),
        *_published_stages(layout, protocol),
    ]


def next_command(stages: list[Stage]) -> str:
    """Return the command of the first stage that is not done.

    A project that has judgments but no sample holds imported work: its next step is the audit.
    """
    by_name = {stage.name: stage for stage in stages}
    audit = by_name["audit"]
    if by_name["sample"].state == NOT_YET and (audit.next or audit.state == DONE):
        return audit.next
    return next((stage.next for stage in stages if stage.state != DONE and stage.next), "")


def _sampling_stages(layout: Layout, config: Config) -> Iterator[Stage]:
    yield _artefact("catalog", layout.catalog, "collect catalog demo --species 2000 --seed 0")
    yield _artefact("embed", layout.embeddings(config.embed.encoder), "collect embed")
    yield _artefact(
        "sample", layout.sample(config.sample.name), "collect sample --pivots 405 --k 12"
    )


def _artefact(name: str, directory: Path, command: str) -> Stage:
    manifest = read_manifest(directory)
    if manifest is None:
        state = PARTLY if directory.exists() and any(directory.iterdir()) else NOT_YET
        return Stage(name, state, "begun, not finished" if state == PARTLY else "", command)
    counts = ", ".join(f"{count:,} {what}" for what, count in manifest.counts.items())
    return Stage(name, DONE, counts)


def _task_stages(protocol: ProtocolDeclaration, connection: Connection) -> Iterator[Stage]:
    judged = count_judgments(connection)
    for task in protocol.tasks:
        published, wanted = _hits_of(connection, task)
        states = _assignments_of(connection, task)
        submitted = sum(states.values())
        parts = []
        if published:
            parts.append(f"{published:,} HITs, {submitted:,} of {wanted:,} submissions pulled")
        if task in judged:
            parts.append(f"{judged[task]:,} judgments")
        if passed := _verdicts_of(connection, task):
            parts.append(", ".join(f"{count:,} {verdict}" for verdict, count in passed.items()))
        if not published:
            state, command = (DONE if task in judged else NOT_YET), f"collect launch {task}"
        elif submitted < wanted:
            state, command = PARTLY, f"collect pull {task}"
        elif waiting := states.get("Submitted", 0):
            parts.append(f"{waiting:,} to review")
            state, command = PARTLY, f"collect approve {task}"
        else:
            state, command = DONE, ""
        yield Stage(task, state, "; ".join(parts), command)


def _hits_of(connection: Connection, task: str) -> tuple[int, int]:
    query = (
        select(func.count(), func.coalesce(func.sum(hits.c.max_assignments), 0))
        .join(batches, batches.c.batch_id == hits.c.batch_id)
        .where(batches.c.task == task)
    )
    published, wanted = connection.execute(query).one()
    return int(published), int(wanted)


def _assignments_of(connection: Connection, task: str) -> dict[str, int]:
    query = (
        select(assignments.c.state, func.count())
        .join(hits, hits.c.hit_id == assignments.c.hit_id)
        .join(batches, batches.c.batch_id == hits.c.batch_id)
        .where(batches.c.task == task)
        .group_by(assignments.c.state)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def _verdicts_of(connection: Connection, task: str) -> dict[str, int]:
    query = (
        select(verdicts.c.verdict, func.count())
        .where(verdicts.c.task == task)
        .group_by(verdicts.c.verdict)
        .order_by(verdicts.c.verdict)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def _audit_stage(layout: Layout, connection: Connection) -> Stage:
    reports = sorted(layout.reports.glob("*.html")) if layout.reports.exists() else []
    if reports:
        return Stage("audit", DONE, ", ".join(path.name for path in reports))
    command = "collect audit" if count_judgments(connection) else ""
    return Stage("audit", NOT_YET, "", command)


def _published_stages(layout: Layout, protocol: ProtocolDeclaration) -> Iterator[Stage]:
    releases = _finished(layout.root / "releases", "MANIFEST.json")
    build = "collect release build 1.0.0" if protocol.release else ""
    yield Stage("release", DONE if releases else NOT_YET, ", ".join(releases), build)
    runs = _finished(layout.root / "models", "metrics.json")
    train = f"collect train --release {releases[-1]}" if releases else ""
    yield Stage("train", DONE if runs else NOT_YET, ", ".join(runs), train)


def _finished(folder: Path, last_file: str) -> list[str]:
    if not folder.exists():
        return []
    return sorted(path.parent.name for path in folder.glob(f"[!.]*/{last_file}"))
