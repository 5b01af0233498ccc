"""The tables of the state database, in SQLAlchemy Core. Migrations are in `project/migrations`."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Numeric,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# Times are ISO 8601 UTC text (project.clock.iso): they sort, and read the same on every database.

items = Table(
    "items",
    metadata,
    Column("task", String(64), primary_key=True),
    Column("item_id", String(255), primary_key=True),
    Column("unit_id", String(255), nullable=False, index=True),
    Column("cluster", String(255), nullable=False, default=""),
    Column("data", JSON, nullable=False),
)

batches = Table(
    "batches",
    metadata,
    Column("batch_id", String(64), primary_key=True),
    Column("task", String(64), nullable=False),
    Column("sample", String(255), nullable=False),
    Column("crowd", String(32), nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("hit_type_id", String(64), nullable=False, default=""),
    Column("template_hash", String(64), nullable=False),
    Column("settings", JSON, nullable=False),
    Column("state", String(16), nullable=False),
    Column("created_at", String(32), nullable=False),
)

hits = Table(
    "hits",
    metadata,
    Column("hit_key", String(128), primary_key=True),
    Column("batch_id", ForeignKey("batches.batch_id"), nullable=False, index=True),
    Column("hit_id", String(64), unique=True),
    Column("token", String(64), nullable=False, unique=True),
    Column("item_ids", JSON, nullable=False),
    Column("max_assignments", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("published_at", String(32), nullable=False, default=""),
)

assignments = Table(
    "assignments",
    metadata,
    Column("assignment_id", String(64), primary_key=True),
    Column("hit_id", ForeignKey("hits.hit_id"), nullable=False, index=True),
    Column("worker_id", String(64), nullable=False, index=True),
    Column("state", String(16), nullable=False),
    Column("accepted_at", String(32), nullable=False),
    Column("submitted_at", String(32), nullable=False),
    Column("auto_approval_at", String(32), nullable=False, default=""),
    Column("reviewed_at", String(32), nullable=False, default=""),
    Column("answer", Text, nullable=False),
    Column("quarantine", Text, nullable=False, default=""),
)

workers = Table(
    "workers",
    metadata,
    Column("worker_id", String(64), primary_key=True),
    Column("simulated", Boolean, nullable=False),
    Column("first_seen_at", String(32), nullable=False),
    Column("state", String(16), nullable=False, default="active"),
    Column("note", Text, nullable=False, default=""),
)

judgments = Table(
    "judgments",
    metadata,
    Column("judgment_id", Integer, primary_key=True, autoincrement=True),
    Column("task", String(64), nullable=False),
    Column("item_id", String(255), nullable=False),
    Column("field", String(64), nullable=False),
    Column("worker_id", String(64), nullable=False, index=True),
    Column("value", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("phase", String(16), nullable=False),
    Column("assignment_id", String(64), nullable=False),
    Column("submitted_at", String(32), nullable=False),
    Column("work_seconds", Float),
    Column("source", String(255), nullable=False),
    Column("simulated", Boolean, nullable=False),
    Column("telemetry", JSON, nullable=False),
    UniqueConstraint(
        "task",
        "item_id",
        "field",
        "worker_id",
        "assignment_id",
        "source",
        "phase",
        "position",
        name="uq_judgments_once",
    ),
    Index("ix_judgments_task_item", "task", "item_id"),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("task", String(64), primary_key=True),
    Column("item_id", String(255), primary_key=True),
    Column("verdict", String(16), nullable=False),
    Column("rule", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("decided_at", String(32), nullable=False),
)

reviews = Table(
    "reviews",
    metadata,
    Column("review_id", Integer, primary_key=True, autoincrement=True),
    Column("subject_kind", String(32), nullable=False),
    Column("subject_id", String(255), nullable=False),
    Column("reviewer", String(255), nullable=False),
    Column("decision", String(32), nullable=False),
    Column("note", Text, nullable=False),
    Column("reviewed_at", String(32), nullable=False),
    Index("ix_reviews_subject", "subject_kind", "subject_id"),
)

ledger = Table(
    "ledger",
    metadata,
    Column("entry_id", String(64), primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("target", String(255), nullable=False),
    Column("batch_id", String(64), nullable=False, index=True),
    Column("amount", Numeric(12, 2), nullable=False),
    Column("fee", Numeric(12, 2), nullable=False),
    Column("token", String(64), nullable=False, unique=True),
    Column("state", String(16), nullable=False),
    Column("intended_at", String(32), nullable=False),
    Column("sent_at", String(32), nullable=False, default=""),
    Column("settled_at", String(32), nullable=False, default=""),
    Column("reply", Text, nullable=False, default=""),
)
"""One row per intended effect on the outside, written before the call (intended, sent, confirmed,
failed). `amount` and `fee` are USD."""

events = Table(
    "events",
    metadata,
    Column("event_id", Integer, primary_key=True, autoincrement=True),
    Column("at", String(32), nullable=False),
    Column("kind", String(64), nullable=False),
    Column("subject", String(255), nullable=False),
    Column("data", JSON, nullable=False),
)
"""Append-only: what was done to this project, when."""
