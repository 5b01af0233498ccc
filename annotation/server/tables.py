"""The crowd server's own tables, as the real service kept its own: the requester never reads them.

Every `*_at` column is a moment in milliseconds since 1970 UTC, every `*_cents` an amount in US
cents, so both compare and add exactly on every database.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite gives rowids (and so keeps order of arrival) to INTEGER keys only.
Serial = BigInteger().with_variant(Integer, "sqlite")


def _id(name: str, *, primary_key: bool = False, index: bool = False) -> Column[str]:
    return Column(name, String(64), nullable=False, primary_key=primary_key, index=index)


def _moment(name: str, *, nullable: bool = True) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, default=0)


def _words(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, default="")


requesters = Table(
    "requesters",
    metadata,
    _id("requester_id", primary_key=True),
    _words("name"),
    Column("balance_cents", BigInteger, nullable=False),
    Column("hold_cents", BigInteger, nullable=False, default=0),
    _moment("created_at", nullable=False),
)
"""`balance_cents` is what the account holds; `hold_cents` of it is promised to published HITs."""

access_keys = Table(
    "access_keys",
    metadata,
    Column("access_key_id", String(128), primary_key=True),
    Column("secret_access_key", String(128), nullable=False),
    _id("requester_id"),
    Column("active", Boolean, nullable=False, default=True),
)

account_entries = Table(
    "account_entries",
    metadata,
    Column("entry_id", Serial, primary_key=True, autoincrement=True),
    _id("requester_id", index=True),
    _moment("at", nullable=False),
    Column("kind", String(16), nullable=False),
    Column("amount_cents", BigInteger, nullable=False),
    Column("subject", String(64), nullable=False),
)
"""Append-only: every movement of money (deposit, reward, bonus, fee); it sums to the balance."""

hit_types = Table(
    "hit_types",
    metadata,
    _id("hit_type_id", primary_key=True),
    _id("requester_id"),
    Column("group_id", String(64), nullable=False, unique=True),
    Column("fingerprint", String(64), nullable=False),
    Column("title", String(255), nullable=False),
    _words("description"),
    _words("keywords"),
    Column("reward_cents", BigInteger, nullable=False),
    Column("assignment_seconds", BigInteger, nullable=False),
    Column("auto_approval_seconds", BigInteger, nullable=False),
    Column("requirements", JSON, nullable=False),
    _moment("created_at", nullable=False),
    UniqueConstraint("requester_id", "fingerprint"),
)
"""Never changed after creation; `fingerprint` is the hash of everything a requester stated."""

notification_settings = Table(
    "notification_settings",
    metadata,
    _id("hit_type_id", primary_key=True),
    Column("specification", JSON, nullable=False),
    Column("active", Boolean, nullable=False),
)

outbox = Table(
    "outbox",
    metadata,
    Column("message_id", Serial, primary_key=True, autoincrement=True),
    Column("transport", String(8), nullable=False),
    _words("destination"),
    _words("body"),
    _count("attempts"),
    Column("next_try_at", BigInteger, nullable=False, index=True),
    _moment("delivered_at"),
    _words("last_error"),
)
"""Notifications that wait for delivery: written with the event, sent after it."""

hits = Table(
    "hits",
    metadata,
    Column("seq", Serial, primary_key=True, autoincrement=True),
    Column("hit_id", String(64), nullable=False, unique=True),
    _id("requester_id"),
    _id("hit_type_id"),
    Column("layout_id", String(64)),
    Column("annotation", String(255)),
    Column("max_assignments", Integer, nullable=False),
    _count("pending"),
    _count("submitted"),
    _count("approved"),
    _count("rejected"),
    Column("status", String(16), nullable=False),
    Column("review_status", String(32), nullable=False, default="NotReviewed"),
    Column("reviewing", Boolean, nullable=False, default=False),
    Column("hold_cents", BigInteger, nullable=False, default=0),
    Column("assignment_review_policy", JSON),
    Column("hit_review_policy", JSON),
    Column("expiry_seen", Boolean, nullable=False, default=False),
    _moment("created_at", nullable=False),
    _moment("expires_at", nullable=False),
    _moment("disposed_at"),
    Index("ix_hits_requester_seq", "requester_id", "seq"),
    Index("ix_hits_type_status_seq", "hit_type_id", "status", "seq"),
    Index("ix_hits_open_expires", "expiry_seen", "expires_at"),
    Index("ix_hits_status_created", "status", "created_at"),
)
"""`pending`, `submitted`, `approved`, `rejected` count the HIT's assignments in those states."""

hit_questions = Table(
    "hit_questions",
    metadata,
    _id("hit_id", primary_key=True),
    Column("body", LargeBinary, nullable=False),
)
"""The Question XML, zlib-compressed and apart from `hits` so that scans of HITs stay light."""

assignments = Table(
    "assignments",
    metadata,
    Column("seq", Serial, primary_key=True, autoincrement=True),
    Column("assignment_id", String(64), nullable=False, unique=True),
    _id("hit_id"),
    _id("worker_id"),
    Column("state", String(16), nullable=False),
    _moment("accepted_at", nullable=False),
    _moment("deadline_at", nullable=False),
    _moment("submitted_at"),
    _moment("auto_approval_at"),
    _moment("approved_at"),
    _moment("rejected_at"),
    _moment("ended_at"),
    Column("answer", Text),
    Column("feedback", Text),
    _words("return_reason"),
    Column("completion_code", String(32)),
    Index("ix_assignments_hit_seq", "hit_id", "seq"),
    Index("ix_assignments_worker_state", "worker_id", "state"),
    Index("ix_assignments_state_deadline", "state", "deadline_at"),
    Index("ix_assignments_state_auto", "state", "auto_approval_at"),
    Index(
        "uq_assignments_once",
        "hit_id",
        "worker_id",
        unique=True,
        sqlite_where=text("state NOT IN ('Returned', 'Abandoned')"),
        postgresql_where=text("state NOT IN ('Returned', 'Abandoned')"),
    ),
)
"""States: Accepted, Submitted, Approved, Rejected, and what MTurk forgot: Returned, Abandoned."""

late_submissions = Table(
    "late_submissions",
    metadata,
    Column("late_id", Serial, primary_key=True, autoincrement=True),
    _id("assignment_id", index=True),
    _moment("received_at", nullable=False),
    _words("answer"),
)
"""Answers that came after the deadline or a return: not counted as work, never thrown away."""

drafts = Table(
    "drafts",
    metadata,
    _id("assignment_id", primary_key=True),
    _moment("saved_at", nullable=False),
    _words("content"),
)

request_tokens = Table(
    "request_tokens",
    metadata,
    _id("requester_id", primary_key=True),
    Column("operation", String(64), primary_key=True),
    Column("token", String(64), primary_key=True),
    _id("target_id"),
    _moment("created_at", nullable=False),
)

bonuses = Table(
    "bonuses",
    metadata,
    Column("seq", Serial, primary_key=True, autoincrement=True),
    _id("requester_id"),
    _id("worker_id", index=True),
    _id("assignment_id", index=True),
    _id("hit_id", index=True),
    Column("amount_cents", BigInteger, nullable=False),
    Column("fee_cents", BigInteger, nullable=False),
    _words("reason"),
    _moment("granted_at", nullable=False),
)

workers = Table(
    "workers",
    metadata,
    _id("worker_id", primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("label", String(255), nullable=False),
    Column("country", String(2)),
    Column("subdivision", String(2)),
    _moment("created_at", nullable=False),
    _count("accepted"),
    _count("submitted"),
    _count("approved"),
    _count("rejected"),
    _count("returned"),
    _count("abandoned"),
    UniqueConstraint("kind", "label"),
)
"""`kind` is person or simulated and never changes; the counts are over the worker's whole life."""

invitations = Table(
    "invitations",
    metadata,
    _id("token_hash", primary_key=True),
    _id("worker_id", index=True),
    _moment("created_at", nullable=False),
    _moment("expires_at"),
)

sessions = Table(
    "sessions",
    metadata,
    _id("session_hash", primary_key=True),
    Column("worker_id", String(64)),
    Column("csrf", String(64), nullable=False),
    _moment("created_at", nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
)
"""A session without a worker is the requester's, opened with the admin token."""

worker_blocks = Table(
    "worker_blocks",
    metadata,
    Column("seq", Serial, primary_key=True, autoincrement=True),
    _id("requester_id"),
    _id("worker_id"),
    _words("reason"),
    _moment("created_at", nullable=False),
    UniqueConstraint("requester_id", "worker_id"),
)

messages = Table(
    "messages",
    metadata,
    Column("message_id", Serial, primary_key=True, autoincrement=True),
    _id("worker_id", index=True),
    _id("requester_id"),
    Column("subject", String(255), nullable=False),
    _words("body"),
    _moment("sent_at", nullable=False),
    _moment("read_at"),
)

qualification_types = Table(
    "qualification_types",
    metadata,
    Column("seq", Serial, primary_key=True, autoincrement=True),
    Column("qualification_type_id", String(64), nullable=False, unique=True),
    _id("requester_id"),
    Column("name", String(255), nullable=False),
    _words("description"),
    Column("keywords", Text),
    Column("status", String(16), nullable=False),
    Column("retry_delay_seconds", BigInteger),
    Column("test", Text),
    Column("test_seconds", BigInteger),
    Column("answer_key", Text),
    Column("auto_granted", Boolean, nullable=False, default=False),
    Column("auto_granted_value", Integer),
    _moment("created_at", nullable=False),
    _moment("deleted_at"),
    Index(
        "uq_qualification_types_name",
        "requester_id",
        "name",
        unique=True,
        sqlite_where=text("deleted_at IS NULL"),
        postgresql_where=text("deleted_at IS NULL"),
    ),
)

qualifications = Table(
    "qualifications",
    metadata,
    Column("seq", Serial, primary_key=True, autoincrement=True),
    _id("qualification_type_id"),
    _id("worker_id", index=True),
    Column("value", Integer),
    Column("status", String(16), nullable=False),
    _words("reason"),
    _moment("granted_at", nullable=False),
    UniqueConstraint("qualification_type_id", "worker_id"),
)

qualification_requests = Table(
    "qualification_requests",
    metadata,
    Column("seq", Serial, primary_key=True, autoincrement=True),
    Column("request_id", String(64), nullable=False, unique=True),
    _id("qualification_type_id"),
    _id("worker_id"),
    Column("state", String(16), nullable=False),
    _moment("started_at", nullable=False),
    _moment("deadline_at"),
    _moment("submitted_at"),
    Column("answer", Text),
    Column("value", Integer),
    _words("reason"),
    Index("ix_qualification_requests_type_state", "qualification_type_id", "state"),
    Index("ix_qualification_requests_worker", "worker_id", "qualification_type_id"),
)
"""States: Testing, Pending, Granted, Rejected, Expired."""

review_details = Table(
    "review_details",
    metadata,
    Column("seq", Serial, primary_key=True, autoincrement=True),
    _id("action_id"),
    _id("hit_id", index=True),
    Column("level", String(16), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("detail", JSON, nullable=False),
)
"""What review policies computed (`result`) and did (`action`), as the service reports it."""

layouts = Table(
    "layouts",
    metadata,
    _id("layout_id", primary_key=True),
    _id("requester_id"),
    Column("name", String(255), nullable=False),
    _words("content"),
    _moment("created_at", nullable=False),
    UniqueConstraint("requester_id", "name"),
)
