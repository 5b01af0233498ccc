"""Launch and pull against a really running crowd: nothing twice, nothing lost, costs stated."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pairs_to_words.annotation import launch as launching
from pairs_to_words.annotation.launch import Plan, plan_launch, publish
from pairs_to_words.annotation.mturk import Crowd, open_crowd, refuse_closed
from pairs_to_words.annotation.pull import pull
from pairs_to_words.annotation.review import review, waiting
from pairs_to_words.annotation.server.run import Running
from pairs_to_words.project.clock import system_clock
from pairs_to_words.project.config import load_config
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import load_protocol
from pairs_to_words.project.store import ledger
from pairs_to_words.project.store.judgments import read_judgments
from sqlalchemy import Engine, text

PROTOCOL = load_protocol("birds-to-words")
CLARITY = PROTOCOL.task("clarity")


def plan(state: Engine, project: Layout, task: str = "clarity", limit: int | None = None) -> Plan:
    return plan_launch(state, project, load_config(project.config), PROTOCOL, task, limit=limit)


@pytest.fixture
def crowd(served: Running, sampled: Layout) -> Any:
    assert served.url
    with open_crowd(sampled, load_config(sampled.config), "local") as opened:
        yield opened


def live(crowd: Crowd) -> list[dict[str, Any]]:
    return list(crowd.pages("list_hits", "HITs"))


def test_a_plan_states_its_cost_with_fees_and_pay_per_hour(state: Engine, sampled: Layout) -> None:
    found = plan(state, sampled)
    assert len(found.items) == 12
    assert [len(group) for group in found.groups] == [10, 2]
    assert found.cost == Decimal("4.80")  # 2 HITs x 5 workers x (0.40 + 20 %)
    assert found.hourly == Decimal("16.00")


def test_a_limit_spreads_over_the_pivots(state: Engine, sampled: Layout) -> None:
    for limit, most in ((3, 1), (6, 2)):
        pivots = Counter(
            item.item_id.partition("-")[0] for item in plan(state, sampled, limit=limit).items
        )
        assert set(pivots.values()) == {most}
    larger = [item.item_id for item in plan(state, sampled, limit=6).items]
    assert [item.item_id for item in plan(state, sampled, limit=3).items] == larger[:3]


def test_launching_again_publishes_nothing_twice_and_a_higher_limit_only_the_rest(
    crowd: Crowd, state: Engine, sampled: Layout
) -> None:
    first = publish(state, crowd, plan(state, sampled, limit=6), system_clock)
    assert first == {"published": 1, "found": 0, "items": 6}
    again = plan(state, sampled, limit=6)
    assert (again.items, again.unfinished, again.cost) == ([], [], 0)
    publish(state, crowd, plan(state, sampled), system_clock)
    assert len(live(crowd)) == 2
    asked = [json.loads(x) for x in _column(state, "SELECT item_ids FROM hits")]
    assert sorted(item for ids in asked for item in ids) == sorted(
        item.item_id for item in plan_items(state, sampled)
    )


def plan_items(state: Engine, project: Layout) -> list[Any]:
    from pairs_to_words.annotation.items import items_of

    with state.connect() as connection:
        return items_of(connection, project, "clarity", CLARITY, "main", 0)


def _column(state: Engine, query: str) -> list[Any]:
    with state.connect() as connection:
        return list(connection.execute(text(query)).scalars())


def test_a_launch_that_breaks_the_cap_is_refused_before_anything_is_sent(
    crowd: Crowd, state: Engine, sampled: Layout
) -> None:
    publish(state, crowd, plan(state, sampled, limit=6), system_clock)
    config = load_config(sampled.config)
    capped = config.model_copy(
        update={"crowd": config.crowd.model_copy(update={"max_cost": Decimal("4.79")})}
    )
    with pytest.raises(UserError, match=r"cap of 4\.79 USD"):
        plan_launch(state, sampled, capped, PROTOCOL, "clarity")
    assert len(live(crowd)) == 1


@pytest.mark.parametrize("lost", ["before", "after"])
def test_a_lost_call_or_reply_leaves_one_hit(
    crowd: Crowd, state: Engine, sampled: Layout, lost: str
) -> None:
    class Losing:
        """The real client, which loses the first create call or its reply."""

        def __init__(self) -> None:
            self.calls = 0

        def __getattr__(self, name: str) -> Any:
            real = getattr(crowd.client, name)
            if name != "create_hit_with_hit_type":
                return real

            def call(**params: Any) -> Any:
                self.calls += 1
                if self.calls > 1:
                    return real(**params)
                if lost == "after":
                    real(**params)
                raise ConnectionError("the cable")

            return call

    planned = plan(state, sampled)
    with pytest.raises(CouldNotError, match="does not answer"):
        publish(state, replace(crowd, client=Losing()), planned, system_clock)
    counts = publish(state, crowd, plan(state, sampled), system_clock)
    assert counts["found"] == (1 if lost == "after" else 0)
    assert len(live(crowd)) == 2
    states = Counter(_column(state, "SELECT state FROM ledger"))
    assert states == {"confirmed": 2}


def test_after_a_tokens_24_hours_the_crowd_is_searched_first(
    crowd: Crowd, state: Engine, sampled: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    yesterday = datetime.now(UTC) - timedelta(hours=30)

    def crash(*_args: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(launching, "hit_published", crash)
        with pytest.raises(KeyboardInterrupt):
            publish(state, crowd, plan(state, sampled), lambda: yesterday)
    # The token is forgotten, as after its day; only the annotation tells.
    with state.begin() as connection:
        connection.execute(text("UPDATE hits SET token = 'other' WHERE state = 'sent'"))
    counts = publish(state, crowd, plan(state, sampled), system_clock)
    assert counts["found"] == 1
    assert len(live(crowd)) == 2


def test_amazons_closed_hosts_are_refused_in_one_sentence(sampled: Layout) -> None:
    for host in ("mturk-requester.us-east-1", "mturk-requester-sandbox.us-east-1"):
        with pytest.raises(CouldNotError, match="30 September 2026"):
            refuse_closed(f"https://{host}.amazonaws.com")
    refuse_closed("https://crowd.example.org")


def test_batches_of_one_crowd_are_not_finished_on_another(
    crowd: Crowd, state: Engine, sampled: Layout
) -> None:
    publish(state, crowd, plan(state, sampled), system_clock)
    other = replace(crowd, name="mturk", endpoint="https://crowd.example.org")
    with pytest.raises(UserError, match="is on the crowd local"):
        pull(state, other, "clarity", CLARITY, system_clock)


def test_pull_is_incremental_and_repeats_add_nothing(
    crowd: Crowd, state: Engine, sampled: Layout, work: Any
) -> None:
    publish(state, crowd, plan(state, sampled), system_clock)
    assert work(2) == 4
    first = pull(state, crowd, "clarity", CLARITY, system_clock)
    assert (first["new"], first["judgments"]) == (4, 2 * 12 * 2)
    assert pull(state, crowd, "clarity", CLARITY, system_clock)["new"] == 0
    assert work(5) == 6
    second = pull(state, crowd, "clarity", CLARITY, system_clock)
    assert (second["new"], second["judgments"]) == (6, 3 * 12 * 2)
    with state.connect() as connection:
        judgments = read_judgments(connection)
    assert len(judgments) == 120
    assert judgments["simulated"].all()
    assert set(judgments["position"]) == {0, 1, 2, 3, 4}
    assert judgments["telemetry"].iloc[0]["seconds"] == 4


def test_a_bad_answer_is_kept_aside_and_the_batch_goes_on(
    crowd: Crowd, state: Engine, sampled: Layout, work: Any
) -> None:
    publish(state, crowd, plan(state, sampled, limit=3), system_clock)

    def bad(task: str, place: int, item: dict[str, Any]) -> dict[str, str]:
        return {"clear_1": "maybe", "clear_2": "clear"}

    assert work(1, bad) == 1
    assert work(5) == 4
    counts = pull(state, crowd, "clarity", CLARITY, system_clock)
    assert (counts["new"], counts["quarantined"], counts["judgments"]) == (5, 1, 4 * 3 * 2)
    [trouble] = _column(state, "SELECT quarantine FROM assignments WHERE quarantine <> ''")
    assert "0.clear_1 is 'maybe'; expected clear, unclear" in trouble
    assert waiting(state, "clarity").held == 1


def test_approving_twice_pays_once(crowd: Crowd, state: Engine, sampled: Layout, work: Any) -> None:
    publish(state, crowd, plan(state, sampled, limit=3), system_clock)
    work(5)
    pull(state, crowd, "clarity", CLARITY, system_clock)
    rows = waiting(state, "clarity")
    assert rows.cost == Decimal("2.40")
    lost = rows.rows[0]["assignment_id"]
    crowd.call("approve_assignment", AssignmentId=lost)  # an earlier run whose reply was lost
    counts = review(state, crowd, "clarity", rows.rows, ledger.APPROVE, system_clock)
    assert counts == {"approved": 4, "rejected": 0, "already": 1}
    assert waiting(state, "clarity").rows == []
    balance = crowd.call("get_account_balance")
    assert Decimal(balance["AvailableBalance"]) == Decimal("100000.00") - Decimal("2.40")


def test_only_the_named_submission_is_rejected_and_its_reason_reaches_the_worker(
    crowd: Crowd, state: Engine, sampled: Layout, work: Any
) -> None:
    publish(state, crowd, plan(state, sampled, limit=3), system_clock)
    work(5)
    pull(state, crowd, "clarity", CLARITY, system_clock)
    chosen = waiting(state, "clarity").rows[2]["assignment_id"]
    found = waiting(state, "clarity", assignment_ids=[chosen])
    with pytest.raises(UserError, match="needs a reason"):
        review(state, crowd, "clarity", found.rows, ledger.REJECT, system_clock)
    review(state, crowd, "clarity", found.rows, ledger.REJECT, system_clock, reason="Empty.")
    states = {
        row["AssignmentId"]: (row["AssignmentStatus"], row.get("RequesterFeedback"))
        for row in crowd.pages(
            "list_assignments_for_hit", "Assignments", HITId=found.rows[0]["hit_id"]
        )
    }
    assert states.pop(chosen) == ("Rejected", "Empty.")
    assert set(states.values()) == {("Submitted", None)}
    with pytest.raises(UserError, match="No submission of task clarity waits"):
        waiting(state, "clarity", assignment_ids=[chosen])


def test_kill_minus_nine_during_launch_and_pull_leaves_nothing_twice_and_nothing_lost(
    crowd: Crowd, state: Engine, sampled: Layout, work: Any
) -> None:
    draw = random.Random(0)

    def run(*arguments: str, kill_after: str = "") -> None:
        """Run a command; with `kill_after`, kill it soon after that count has grown."""
        command = [sys.executable, "-m", "pairs_to_words.collect.main", *arguments]
        before = _column(state, kill_after) if kill_after else []
        process = subprocess.Popen(
            [*command, "--project", str(sampled.root)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if kill_after:
            while process.poll() is None and _column(state, kill_after) == before:
                time.sleep(0.002)
            time.sleep(draw.uniform(0, 0.03))
            process.kill()
        assert process.wait(timeout=60) == (-9 if kill_after else 0)

    # One item per HIT: many calls, so that kills fall between them.
    own = sampled.root / "own.toml"
    small = PROTOCOL.model_copy(
        update={
            "tasks": {
                **PROTOCOL.tasks,
                "clarity": CLARITY.model_copy(update={"items_per_hit": 1}),
            }
        }
    )
    own.write_text(_toml(small.model_dump(mode="json")))
    configured = sampled.config.read_text().replace('"birds-to-words"', f'"{own}"')
    sampled.config.write_text(configured)
    launch = ["launch", "clarity", "--yes", "--max-cost", "100"]
    published = "SELECT COUNT(*) FROM hits WHERE state = 'published'"
    run(*launch, kill_after="SELECT COUNT(*) FROM hits")
    run(*launch, kill_after=published)
    assert _column(state, published) < [12], "nothing was left: the kills tested nothing"
    run(*launch)
    assert len(live(crowd)) == 12
    assert Counter(_column(state, "SELECT state FROM hits")) == {"published": 12}
    assert work(5) == 60
    run("pull", "clarity", kill_after="SELECT COUNT(*) FROM assignments")
    run("pull", "clarity")
    assert _column(state, "SELECT COUNT(*) FROM assignments") == [60]
    assert _column(state, "SELECT COUNT(*) FROM judgments") == [120]


def _toml(value: dict[str, Any]) -> str:
    """Just enough TOML for a protocol: inline tables all the way down."""

    def inline(part: Any) -> str:
        if isinstance(part, dict):
            inner = ", ".join(f"{k} = {inline(v)}" for k, v in part.items() if v is not None)
            return "{ " + inner + " }"
        if isinstance(part, list):
            return "[" + ", ".join(inline(x) for x in part) + "]"
        return json.dumps(part)

    return "\n".join(f"{k} = {inline(v)}" for k, v in value.items() if v is not None) + "\n"
