"""A person's path in a real browser: by keyboard alone, at phone size, offline during submit."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from pairs_to_words.annotation.launch import plan_launch, publish
from pairs_to_words.annotation.mturk import open_crowd
from pairs_to_words.annotation.server.run import Running
from pairs_to_words.annotation.task_pages import page_question
from pairs_to_words.project.clock import iso, system_clock
from pairs_to_words.project.config import load_config
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import load_protocol
from pairs_to_words.project.records import Verdict
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.judgments import put_verdicts
from sqlalchemy import Engine, text

webdriver = pytest.importorskip("selenium.webdriver")

from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

pytestmark = pytest.mark.browser


@pytest.fixture
def browser() -> Iterator[Any]:
    from shutil import which

    chromium, driver = which("chromium") or which("google-chrome"), which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no Chromium with its driver here")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    yield opened
    opened.quit()


def launch(served: Running, project: Layout, state: Engine, task: str, limit: int) -> None:
    assert served.url
    config = load_config(project.config)
    protocol = load_protocol("birds-to-words")
    plan = plan_launch(state, project, config, protocol, task, limit=limit)
    with open_crowd(project, config, "local") as crowd:
        publish(state, crowd, plan, system_clock)


def sign_in(browser: Any, served: Running) -> None:
    [made] = requests.post(
        f"{served.url}/admin/invitations",
        json={"kind": "person", "labels": ["reader"]},
        headers={"Authorization": f"Bearer {served.keys.admin_token}"},
    ).json()["invitations"]
    browser.get(made["url"])


def press(browser: Any, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def wait_for(browser: Any, what: Any, seconds: float = 20) -> Any:
    return WebDriverWait(browser, seconds).until(what)


def tab_to(browser: Any, words: str) -> None:
    """Press Tab until the focused element of the outer page says `words`."""
    for _ in range(60):
        if words in (browser.switch_to.active_element.accessible_name or ""):
            return
        press(browser, Keys.TAB)
    raise AssertionError(f"no Tab stop says {words!r}")


def tab_into_task(browser: Any) -> None:
    """Press Tab until the focus is inside the task's frame, then look at that document."""
    wait_for(browser, lambda b: b.find_elements("css selector", "#task"))
    for _ in range(60):
        if browser.switch_to.active_element.tag_name == "iframe":
            break
        press(browser, Keys.TAB)
    browser.switch_to.frame("task")


def answers_of(served: Running) -> list[str]:
    with served.crowd.database.engine.connect() as connection:
        query = "SELECT answer FROM assignments WHERE state = 'Submitted'"
        return list(connection.execute(text(query)).scalars())


def test_clarity_by_keyboard_alone(
    browser: Any, served: Running, sampled: Layout, state: Engine
) -> None:
    launch(served, sampled, state, "clarity", 3)
    sign_in(browser, served)
    press(browser, Keys.ENTER)
    wait_for(browser, lambda b: b.current_url.endswith("/tasks"))
    tab_to(browser, "Accept and work")
    press(browser, Keys.ENTER)
    wait_for(browser, lambda b: "/work/" in b.current_url)
    tab_into_task(browser)
    press(browser, "z")
    assert browser.find_elements("css selector", ".pair.zoomed")
    press(browser, "z")
    press(browser, "1", "2", "b", "j", "1", "1", "1", "1")
    missing = browser.find_element("id", "missing").text
    assert missing == "All answered. You can submit."
    press(browser, Keys.ENTER)
    browser.switch_to.default_content()
    wait_for(browser, lambda b: "Thank you" in b.page_source)
    [answer] = answers_of(served)
    for name, value in (("0.clear_1", "clear"), ("0.clear_2", "unclear"), ("2.clear_2", "clear")):
        field = f"<QuestionIdentifier>{name}</QuestionIdentifier><FreeText>{value}</FreeText>"
        assert field in answer
    assert "<QuestionIdentifier>0.failed_2</QuestionIdentifier><FreeText>blurred" in answer
    severe = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert severe == []


def open_writing(browser: Any, served: Running, sampled: Layout, state: Engine) -> None:
    with transaction(state) as connection:
        put_verdicts(
            connection,
            [Verdict("clarity", "p0-0", "pass", "test")],
            iso(system_clock()),
        )
    launch(served, sampled, state, "writing", 1)
    sign_in(browser, served)
    press(browser, Keys.ENTER)
    wait_for(browser, lambda b: b.current_url.endswith("/tasks"))
    tab_to(browser, "Accept and work")
    press(browser, Keys.ENTER)
    wait_for(browser, lambda b: "/work/" in b.current_url)
    tab_into_task(browser)


def test_writing_by_keyboard_alone_with_checks_and_a_draft_that_survives_a_reload(
    browser: Any, served: Running, sampled: Layout, state: Engine
) -> None:
    open_writing(browser, served, sampled, state)
    press(browser, "e")
    press(browser, "Animal 1 sits in front of a dark background")
    hints = browser.find_element("css selector", ".checks").text
    assert "Describe the animals, not the background." in hints
    assert "Say something about Animal 2." in hints
    browser.switch_to.default_content()
    wait_for(browser, lambda b: b.find_element("id", "saved").text == "saved")
    browser.refresh()
    tab_into_task(browser)
    area = browser.find_element("css selector", "textarea")
    wait_for(browser, lambda _b: "dark background" in area.get_attribute("value"))
    press(browser, "e")
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL).perform()
    words = "Animal 1 is brown, while Animal 2 is black with a white cap."
    press(browser, words)
    ActionChains(browser).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(
        Keys.CONTROL
    ).perform()
    browser.switch_to.default_content()
    wait_for(browser, lambda b: "Thank you" in b.page_source)
    [answer] = answers_of(served)
    assert f"<FreeText>{words}</FreeText>" in answer
    assert "<QuestionIdentifier>0.keystrokes</QuestionIdentifier><FreeText>0<" not in answer


def test_a_submit_while_offline_arrives_once_when_the_connection_is_back(
    browser: Any, served: Running, sampled: Layout, state: Engine
) -> None:
    open_writing(browser, served, sampled, state)
    press(browser, "e")
    press(browser, "Animal 1 is brown, while Animal 2 is black with a white cap.")
    network = {"latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, **network})
    browser.find_element("id", "send").click()
    browser.switch_to.default_content()
    trouble = browser.find_element("id", "trouble")
    wait_for(browser, lambda _b: "No connection" in trouble.text)
    time.sleep(2)
    assert answers_of(served) == []
    network |= {"downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, **network})
    wait_for(browser, lambda b: "Thank you" in b.page_source)
    assert len(answers_of(served)) == 1


CROWD_PAGE = """<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>
<crowd-form answer-format="flatten-objects">
  <crowd-instructions link-text="Help"><short-summary>Say it.</short-summary></crowd-instructions>
  <crowd-input name="name" label="Name" required></crowd-input>
  <crowd-text-area name="words" label="Words" rows="2"></crowd-text-area>
  <crowd-radio-group name="choice">
    <crowd-radio-button name="yes">Yes</crowd-radio-button>
    <crowd-radio-button name="no">No</crowd-radio-button>
  </crowd-radio-group>
  <crowd-checkbox name="sure">Sure</crowd-checkbox>
  <crowd-classifier name="kind" categories="['bird', 'other']" header="Kind"></crowd-classifier>
  <crowd-button form-action="submit">Send</crowd-button>
</crowd-form>"""


def test_a_page_of_amazons_crowd_elements_works_unchanged(
    browser: Any, served: Running, sampled: Layout
) -> None:
    with open_crowd(sampled, load_config(sampled.config), "local") as crowd:
        crowd.call(
            "create_hit",
            Title="An old page",
            Description="d",
            Reward="0.10",
            LifetimeInSeconds=600,
            AssignmentDurationInSeconds=600,
            Question=page_question(CROWD_PAGE),
        )
    sign_in(browser, served)
    browser.find_element("css selector", "main button").click()
    browser.find_element("css selector", ".card button.primary").click()
    wait_for(browser, lambda b: b.find_elements("css selector", "#task"))
    browser.switch_to.frame("task")
    wait_for(browser, lambda b: b.find_elements("css selector", "input[name=name]"))
    browser.find_element("css selector", "input[name=name]").send_keys("Ann")
    browser.find_element("css selector", "textarea[name=words]").send_keys("so it is")
    for label in ("No", "Sure", "bird"):
        browser.find_element("xpath", f"//label[contains(., '{label}')]").click()
    browser.find_element("xpath", "//button[contains(., 'Send')]").click()
    browser.switch_to.default_content()
    wait_for(browser, lambda b: "Thank you" in b.page_source)
    [answer] = answers_of(served)
    for name, value in (
        ("name", "Ann"),
        ("words", "so it is"),
        ("choice", '{"yes":false,"no":true}'),
        ("sure", "true"),
        ("kind", '{"label":"bird"}'),
    ):
        field = f"<QuestionIdentifier>{name}</QuestionIdentifier><FreeText>{value}</FreeText>"
        assert field in answer


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_no_page_scrolls_sideways(
    browser: Any, served: Running, sampled: Layout, state: Engine, width: int
) -> None:
    launch(served, sampled, state, "clarity", 2)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    sign_in(browser, served)
    assert_fits(browser, width)
    browser.find_element("css selector", "main button").click()
    for path in ("/tasks", "/history", "/earnings", "/messages"):
        browser.get(served.url + path)
        assert_fits(browser, width)
    browser.get(f"{served.url}/tasks")
    browser.find_element("css selector", ".card button").click()
    wait_for(browser, lambda b: b.find_elements("css selector", "#task"))
    assert_fits(browser, width)
    browser.switch_to.frame("task")
    assert_fits(browser, width)


def assert_fits(browser: Any, width: int) -> None:
    found = browser.execute_script("return document.documentElement.scrollWidth")
    assert found <= width, browser.current_url


@pytest.fixture
def axe() -> str:
    """axe-core's script; npm `axe-core` in the folder that COLLECT_TEST_NODE_MODULES names."""
    folder = os.environ.get("COLLECT_TEST_NODE_MODULES")
    script = Path(folder or "") / "axe-core" / "axe.min.js"
    if not folder or not script.is_file():
        pytest.skip("COLLECT_TEST_NODE_MODULES names no folder with axe-core")
    return script.read_text(encoding="utf-8")


def violations(browser: Any, axe: str) -> list[str]:
    """What axe-core finds on the document that the browser looks at, WCAG 2.2 A and AA."""
    browser.execute_script(axe)
    found = browser.execute_async_script(
        """const done = arguments[arguments.length - 1];
        axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
                           iframes: false}).then((r) => done(r.violations));"""
    )
    return [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in found]


@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_no_violation_on_any_page(
    browser: Any, served: Running, sampled: Layout, state: Engine, axe: str, width: int, work: Any
) -> None:
    launch(served, sampled, state, "clarity", 3)
    work(2)
    with transaction(state) as connection:
        passed = [Verdict("clarity", "p0-0", "pass", "test")]
        put_verdicts(connection, passed, iso(system_clock()))
    launch(served, sampled, state, "writing", 1)
    browser.set_script_timeout(60)
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.get("data:text/html,<html><body><img src='x'><input></body></html>")
    assert len(violations(browser, axe)) >= 3, "axe finds nothing where there is something"
    found: dict[str, list[str]] = {}
    browser.get(served.url)
    found["welcome"] = violations(browser, axe)
    sign_in(browser, served)
    found["invitation"] = violations(browser, axe)
    browser.find_element("css selector", "main button").click()
    for place in range(2):
        browser.get(f"{served.url}/tasks")
        found[f"tasks {place}"] = violations(browser, axe)
        browser.find_element("css selector", ".card button.primary").click()
        wait_for(browser, lambda b: b.find_elements("css selector", "#task"))
        found[f"work {place}"] = violations(browser, axe)
        browser.switch_to.frame("task")
        found[f"task {place}"] = violations(browser, axe)
        browser.switch_to.default_content()
    for path in ("/history", "/earnings", "/messages", "/qualifications"):
        browser.get(served.url + path)
        found[path] = violations(browser, axe)
    browser.get(f"{served.url}/requester/sign-in")
    found["sign-in"] = violations(browser, axe)
    browser.find_element("id", "token").send_keys(served.keys.admin_token, Keys.ENTER)
    for path in ("", "/submissions", "/people", "/spending"):
        browser.get(f"{served.url}/requester{path}")
        found[f"requester{path}"] = violations(browser, axe)
    assert {page: problems for page, problems in found.items() if problems} == {}
