"""Pivot review: decisions are stored as made, undone, split between reviewers, and resumed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest
import requests
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.reviews import Review, add_reviews, current_reviews
from pairs_to_words.sampling.domain import Domain
from pairs_to_words.sampling.fill import Rules
from pairs_to_words.sampling.plan import parse_plan
from pairs_to_words.sampling.review import (
    LENT_FOR,
    NONE_CLEAR,
    PIVOT,
    Question,
    ReviewQueue,
    accepted_photos,
    need_reviewed,
    questions,
)
from pairs_to_words.sampling.review_site import running
from pairs_to_words.sampling.sample import asked_species, sample_pairs
from PIL import Image
from sqlalchemy import Engine

PLAN = parse_plan("species=2,genus=2,class=2")
SEED = 4


class Hands:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def asked(domain: Domain) -> list[Question]:
    return questions(domain, asked_species(domain, PLAN, Rules(), SEED), SEED)


@pytest.fixture
def saved() -> list[Review]:
    return []


def make_queue(
    asked: list[Question], saved: list[Review], wanted: int = 5, clock: Any = None
) -> ReviewQueue:
    holds = {review.subject_id: review for review in saved}
    return ReviewQueue(asked, wanted, SEED, holds, saved.append, clock or Hands())


def test_four_photos_of_four_observations_are_shown(domain: Domain, asked: list[Question]) -> None:
    for question in asked:
        places = domain.photo_places(np.array(question.photo_ids))
        observations = domain.photo_observation[places]
        assert len(set(observations.tolist())) == 4
        species = domain.tree.species_id[domain.observation_species[observations]]
        assert set(species.tolist()) == {question.species_id}


def test_a_rejected_species_is_passed_over_for_the_next(
    asked: list[Question], saved: list[Review]
) -> None:
    queue = make_queue(asked, saved, wanted=2)
    for choice in (0, 3, 0, 1):
        question = queue.next_for("ann")
        assert question is not None
        queue.decide("ann", question.species_id, choice)
    assert queue.done()
    assert queue.next_for("ann") is None
    assert queue.counts() == {"accepted": 2, "rejected": 2, "wanted": 2}
    decisions = {review.subject_id: review for review in saved}
    assert accepted_photos(asked, decisions, SEED) == {
        asked[1].species_id: asked[1].photo_ids[2],
        asked[3].species_id: asked[3].photo_ids[0],
    }


def test_undo_takes_back_the_last_decision_even_after_a_restart(
    asked: list[Question], saved: list[Review]
) -> None:
    clock = Hands()
    queue = make_queue(asked, saved, clock=clock)
    for choice in (1, 2):
        clock.now += timedelta(seconds=1)
        question = queue.next_for("ann")
        assert question is not None
        queue.decide("ann", question.species_id, choice)
    assert queue.undo("ann") == asked[1]
    again = make_queue(asked, saved, clock=clock)
    assert again.next_for("ann") == asked[1]
    assert again.undo("ann") == asked[0]
    with pytest.raises(UserError, match="nothing to undo"):
        again.undo("ann")
    assert [review.decision for review in saved].count("undone") == 2


def test_nobody_undoes_what_another_reviewer_decided(
    asked: list[Question], saved: list[Review]
) -> None:
    queue = make_queue(asked, saved)
    queue.decide("ann", asked[0].species_id, 1)
    with pytest.raises(UserError, match="nothing to undo"):
        queue.undo("bob")


def test_two_reviewers_never_get_the_same_species_until_it_is_given_up(
    asked: list[Question], saved: list[Review]
) -> None:
    clock = Hands()
    queue = make_queue(asked, saved, clock=clock)
    assert queue.next_for("ann") == asked[0]
    assert queue.next_for("bob") == asked[1]
    assert queue.next_for("ann") == asked[0]  # reloading the page keeps the question
    queue.decide("bob", asked[1].species_id, 1)
    assert queue.next_for("bob") == asked[2]
    clock.now += LENT_FOR + timedelta(seconds=1)
    assert queue.next_for("bob") == asked[0]
    queue.decide("bob", asked[0].species_id, 0)
    with pytest.raises(UserError, match="decided in the meantime"):
        queue.decide("ann", asked[0].species_id, 2)


def test_many_reviewers_at_once_decide_each_species_once(
    asked: list[Question], saved: list[Review]
) -> None:
    queue = make_queue(asked, saved, wanted=40)

    def work(name: str) -> None:
        while (question := queue.next_for(name)) is not None:
            queue.decide(name, question.species_id, 1)

    threads = [threading.Thread(target=work, args=(f"r{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    subjects = [review.subject_id for review in saved]
    assert len(subjects) == len(set(subjects)) == 40
    assert queue.done()


def test_a_later_species_counts_only_when_those_before_it_are_decided(
    asked: list[Question], saved: list[Review]
) -> None:
    queue = make_queue(asked, saved, wanted=1)
    queue.decide("ann", asked[1].species_id, 1)
    assert not queue.done()
    assert accepted_photos(asked, {r.subject_id: r for r in saved}, SEED) == {}
    with pytest.raises(CouldNotError, match=r"0 of 1 pivots.*collect review --pivots 1"):
        need_reviewed({}, 1)


def test_the_sample_has_the_chosen_photos_as_pivots(domain: Domain, asked: list[Question]) -> None:
    chosen = {
        question.species_id: question.photo_ids[number % 4]
        for number, question in enumerate(asked[:30])
        if number % 3
    }
    pairs = sample_pairs(domain, PLAN, 15, SEED, reviewed=chosen).pairs.to_pandas()
    pivots = pairs.drop_duplicates("pivot_index")
    for species, photo in zip(pivots["pivot_species_id"], pivots["pivot_photo_id"], strict=True):
        assert chosen[species] == photo


def test_decisions_live_in_the_state_with_their_candidates(
    store: Engine, asked: list[Question]
) -> None:
    def save(review: Review) -> None:
        with transaction(store) as connection:
            add_reviews(connection, [review])

    queue = ReviewQueue(asked, 5, SEED, {}, save, Hands())
    queue.decide("ann", asked[0].species_id, 2)
    queue.decide("ann", asked[1].species_id, 0)
    with transaction(store) as connection:
        held = current_reviews(connection, PIVOT)
    assert held[f"{SEED}:{asked[0].species_id}"].decision == str(asked[0].photo_ids[1])
    assert held[f"{SEED}:{asked[1].species_id}"].decision == NONE_CLEAR
    assert str(asked[0].photo_ids[3]) in held[f"{SEED}:{asked[0].species_id}"].note


@pytest.fixture
def site(asked: list[Question], saved: list[Review], tmp_path: Path) -> Iterator[str]:
    file = tmp_path / "photo"
    Image.new("RGB", (40, 30), (90, 140, 60)).save(file, "JPEG")
    names = {question.species_id: f"bird <{question.species_id}>" for question in asked}
    files = {photo: file for question in asked for photo in question.photo_ids}
    with running(make_queue(asked, saved, wanted=3), names, files, reviewer="ann") as opened:
        yield opened.url


def test_the_page_asks_stores_and_finishes(
    site: str, asked: list[Question], saved: list[Review]
) -> None:
    shown = requests.get(site + "next", timeout=5).json()
    for _ in range(3):
        question = shown["question"]
        assert len(question["photos"]) == 4
        photo = requests.get(site + question["photos"][0], timeout=5)
        assert photo.headers["content-type"] == "image/jpeg"
        body = {"species_id": question["species_id"], "choice": 2, "reviewer": "bob\n"}
        shown = requests.post(site + "decide", json=body, timeout=5).json()
    assert shown["done"]
    assert shown["question"] is None
    assert [review.reviewer for review in saved] == ["bob"] * 3


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("decide", {"species_id": "x", "choice": 1}, 400),
        ("decide", {}, 400),
        ("decide", {"species_id": -5, "choice": 1}, 409),
        ("undo", {}, 409),
    ],
)
def test_wrong_calls_are_answered_and_change_nothing(
    site: str, saved: list[Review], path: str, body: dict[str, object], status: int
) -> None:
    answer = requests.post(site + path, json=body, timeout=5)
    assert answer.status_code == status
    assert answer.json()["error"]
    assert saved == []


def test_without_the_key_or_under_another_host_name_nothing_is_shown(site: str) -> None:
    root = "/".join(site.split("/")[:3])
    assert requests.get(root + "/", timeout=5).status_code == 404
    assert requests.get(root + "/wrong/next", timeout=5).status_code == 404
    stranger = requests.get(site + "next", headers={"Host": "evil.example"}, timeout=5)
    assert stranger.status_code == 400


@pytest.mark.browser
def test_a_person_reviews_with_the_keyboard_alone(
    site: str, asked: list[Question], saved: list[Review], tmp_path: Path
) -> None:
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.support.ui import WebDriverWait

    chromium, driver = which("chromium") or which("google-chrome"), which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no Chromium with its driver here")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        browser.get(site)
        wait = WebDriverWait(browser, 20)

        def press(key: str, decisions: int) -> None:
            wait.until(lambda b: b.execute_script("return !!question && !busy"))
            ActionChains(browser).send_keys(key).perform()
            wait.until(lambda _b: len(saved) == decisions)

        press("3", 1)
        press("0", 2)
        press("u", 3)
        for number, key in enumerate("124", start=4):
            if number == 6:
                wait.until(lambda b: "Done" in b.find_element("id", "name").text)
                break
            press(key, number)
        browser.save_screenshot(str(tmp_path / "review.png"))
    finally:
        browser.quit()
    decisions = [review.decision for review in saved]
    assert decisions[0] == str(asked[0].photo_ids[2])
    assert decisions[1:3] == [NONE_CLEAR, "undone"]
    assert decisions[3:] == [str(asked[1].photo_ids[0]), str(asked[2].photo_ids[1])]
