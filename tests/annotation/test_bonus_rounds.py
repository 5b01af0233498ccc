"""From reviewed texts to bonuses on a running crowd: never twice, and under the cap."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
import requests
import uvicorn
from pairs_to_words.annotation.bonus import Payment, pay_bonuses, unpaid
from pairs_to_words.annotation.launch import plan_launch, publish
from pairs_to_words.annotation.mturk import Crowd, open_crowd
from pairs_to_words.annotation.pull import pull
from pairs_to_words.annotation.server.run import Running
from pairs_to_words.collect.main import main
from pairs_to_words.project.clock import system_clock
from pairs_to_words.project.config import load_config
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import load_protocol
from pairs_to_words.project.store import ledger
from pairs_to_words.qc.bonus import bonus_tiers, earned_bonuses
from pairs_to_words.qc.filters import decide
from pairs_to_words.qc.review_round import (
    Round,
    decide_text,
    decisions_of,
    draw_round,
    reviewer_agreement,
)
from pairs_to_words.qc.review_site import review_app
from sqlalchemy import Engine

PROTOCOL = load_protocol("birds-to-words")
CAP = Decimal("1000.00")


def one_of_them(task: str, place: int, item: dict[str, Any]) -> dict[str, str]:
    if task == "clarity":
        return {"clear_1": "clear", "clear_2": "clear"}
    return {"paragraph": f"Animal 1 of {item['item_id']} is paler than Animal 2 <b>& smaller</b>."}


@pytest.fixture
def crowd(served: Running, sampled: Layout) -> Iterator[Crowd]:
    assert served.url
    with open_crowd(sampled, load_config(sampled.config), "local") as opened:
        yield opened


@pytest.fixture
def written(
    crowd: Crowd, state: Engine, sampled: Layout, work: Callable[..., int]
) -> Callable[[str], Round]:
    """Five workers have written about every pair; draws the round of a name."""
    config = load_config(sampled.config)
    for task in ("clarity", "writing"):
        publish(state, crowd, plan_launch(state, sampled, config, PROTOCOL, task), system_clock)
        work(5, one_of_them)
        pull(state, crowd, task, PROTOCOL.task(task), system_clock)
        if task == "clarity":
            decide(state, PROTOCOL, task, system_clock)

    def drawn(name: str) -> Round:
        return draw_round(
            state, sampled, name, task="writing", field="paragraph", workers=3, texts=4, seed=0
        )

    return drawn


def accept(state: Engine, round_: Round, shares: list[int], reviewer: str = "maria") -> None:
    """Accept the first so many of each annotator's texts, annotators by id."""
    workers = sorted({text.worker_id for text in round_.texts})
    for worker, count in zip(workers, shares, strict=True):
        mine = [text for text in round_.texts if text.worker_id == worker]
        for index, text in enumerate(mine):
            said = "accept" if index < count else "needs work"
            decide_text(state, round_, text.judgment_id, reviewer, said, "", system_clock)


def test_a_round_is_frozen_and_the_next_one_reads_other_texts(
    written: Callable[[str], Round],
) -> None:
    first = written("1")
    assert len(first.texts) == 12
    assert len({text.worker_id for text in first.texts}) == 3
    assert written("1") == first
    again = {text.judgment_id for text in written("2").texts}
    assert not again & {text.judgment_id for text in first.texts}


def test_bonuses_follow_the_tiers_and_are_paid_once(
    written: Callable[[str], Round],
    state: Engine,
    sampled: Layout,
    crowd: Crowd,
    capsys: pytest.CaptureFixture[str],
) -> None:
    round_ = written("1")
    arguments = ["bonus", "--round", "1", "--project", str(sampled.root)]
    assert main([*arguments, "--dry-run"]) == 2
    assert "12 of 12 texts of round 1 are not decided yet" in capsys.readouterr().err
    accept(state, round_, [4, 2, 1])
    assert main([*arguments, "--dry-run"]) == 0
    assert "2 bonuses are due, 1.80 USD" in capsys.readouterr().out
    assert main(arguments) == 2
    assert "--max-cost 1.80" in capsys.readouterr().err
    for paid in (2, 0):
        assert main([*arguments, "--yes", "--max-cost", "1.80", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["paid"] == paid
    amounts = [row["amount"] for row in answer["annotators"]]
    assert amounts == ["1.00", "0.50", "0.00"]
    assert answer["annotators"][1]["borderline"] is True
    sent = [
        payment["BonusAmount"]
        for text in {t.assignment_id for t in round_.texts}
        for payment in crowd.pages("list_bonus_payments", "BonusPayments", AssignmentId=text)
    ]
    assert sorted(sent) == ["0.50", "1.00"]


def payment_of(round_: Round, amount: str = "1.00") -> Payment:
    text = round_.texts[0]
    return Payment(text.worker_id, text.assignment_id, Decimal(amount), "Thank you.", "1")


def test_a_bonus_whose_reply_was_lost_is_found_and_not_paid_again(
    written: Callable[[str], Round], state: Engine, crowd: Crowd
) -> None:
    payment = payment_of(written("1"))

    class Losing:
        """The real client, which loses the reply of its first bonus."""

        def __getattr__(self, name: str) -> Any:
            real = getattr(crowd.client, name)

            def call(**params: Any) -> Any:
                answer = real(**params)
                if name == "send_bonus":
                    raise ConnectionError("reply lost")
                return answer

            return call

    with pytest.raises(CouldNotError, match="reply lost"):
        lossy: Any = replace(crowd, client=Losing())
        pay_bonuses(state, lossy, "writing", [payment], CAP, system_clock)
    with state.connect() as connection:
        assert len(ledger.entries(connection, ledger.BONUS, [ledger.SENT])) == 1
    assert pay_bonuses(state, crowd, "writing", [payment], CAP, system_clock) == 1
    assert unpaid(state, [payment]) == []
    found = crowd.pages("list_bonus_payments", "BonusPayments", AssignmentId=payment.assignment_id)
    assert [row["BonusAmount"] for row in found] == ["1.00"]


def test_the_cap_and_a_strangers_submission_stop_a_bonus_before_anything_is_sent(
    written: Callable[[str], Round], state: Engine, crowd: Crowd
) -> None:
    round_ = written("1")
    payment = payment_of(round_)
    with state.connect() as connection:
        spent = ledger.committed(connection)
    with pytest.raises(UserError, match="breaks the project's cap"):
        pay_bonuses(state, crowd, "writing", [payment], spent + 1, system_clock)
    other = next(t for t in round_.texts if t.worker_id != payment.worker_id)
    wrong = Payment(payment.worker_id, other.assignment_id, Decimal("1.00"), "x", "1")
    with pytest.raises(UserError, match="is not one of worker"):
        pay_bonuses(state, crowd, "writing", [wrong], CAP, system_clock)
    with state.connect() as connection:
        assert not ledger.entries(connection, ledger.BONUS, ["intended", "sent", "confirmed"])


@pytest.mark.parametrize("amount", ["0.9752", "-1", "NaN"])
def test_an_amount_that_is_no_money_is_refused(amount: str) -> None:
    with pytest.raises(UserError, match="is not an amount in cents"):
        bonus_tiers(amount, "0.50", 0.75, 0.5)


def test_a_second_reviewer_is_blind_and_their_agreement_is_measured(
    written: Callable[[str], Round], state: Engine
) -> None:
    round_ = written("pilot")
    accept(state, round_, [4, 4, 0], "maria")
    assert decisions_of(state, round_, "tom") == {}
    accept(state, round_, [4, 3, 0], "tom")
    kappa = reviewer_agreement(state, round_, "maria", "tom")
    assert kappa == pytest.approx(5 / 6, abs=0.01)
    tiers = bonus_tiers("1.00", "0.50", 0.75, 0.5)
    assert len(earned_bonuses(round_, decisions_of(state, round_), tiers)) == 3


@pytest.fixture
def site(
    written: Callable[[str], Round], state: Engine, sampled: Layout
) -> Iterator[tuple[str, Round]]:
    round_ = written("pilot")
    app = review_app(state, sampled, round_, "maria", "secret-token", system_clock)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}", round_
    server.should_exit = True
    thread.join()


def test_the_page_shows_text_and_photos_but_not_whose_they_are(
    site: tuple[str, Round], state: Engine
) -> None:
    url, round_ = site
    page = requests.get(f"{url}/secret-token/")
    assert "0 of 12 texts decided" in page.text
    assert "&lt;b&gt;&amp; smaller&lt;/b&gt;" in page.text
    assert not [t.worker_id for t in round_.texts if t.worker_id in page.text]
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    photo = requests.get(f"{url}/secret-token/photo/{round_.texts[0].photos[0]}")
    assert photo.headers["Content-Type"] == "image/jpeg"
    for text in round_.texts:
        form = {"judgment": str(text.judgment_id), "decision": "accept", "note": "fine"}
        assert requests.post(f"{url}/secret-token/decide", data=form).ok
    assert "Every text of this round is decided" in requests.get(f"{url}/secret-token/").text
    assert len(decisions_of(state, round_, "maria")) == 12


def test_strangers_get_nothing(site: tuple[str, Round]) -> None:
    url, round_ = site
    assert requests.get(f"{url}/").status_code == 404
    assert requests.get(f"{url}/wrong-token/").status_code == 404
    assert requests.get(f"{url}/secret-token/photo/{'0' * 64}").status_code == 404
    assert requests.get(f"{url}/secret-token/photo/../../collect.toml").status_code == 404
    stranger = requests.get(f"{url}/secret-token/", headers={"Host": "evil.example"})
    assert stranger.status_code == 400
    form = {"judgment": "999999", "decision": "accept"}
    assert requests.post(f"{url}/secret-token/decide", data=form).status_code == 400
    form = {"judgment": str(round_.texts[0].judgment_id), "decision": "burn"}
    assert requests.post(f"{url}/secret-token/decide", data=form).status_code == 400
