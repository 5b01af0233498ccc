"""The worker site: who gets in, what strangers cannot do, what workers see."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest
import requests

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

JSON = {"Accept": "application/json"}


def test_only_an_invitation_signs_in_and_looking_at_it_does_not(server: Any, invite: Any) -> None:
    [made] = invite("ann")
    session = requests.Session()
    assert session.get(f"{server.url}/tasks", headers=JSON).status_code == 401
    page = session.get(made["url"])
    assert page.status_code == 200
    assert made["worker_id"] in page.text
    assert session.get(f"{server.url}/tasks", headers=JSON).status_code == 401
    assert session.post(made["url"]).url == f"{server.url}/tasks"
    assert session.get(f"{server.url}/tasks", headers=JSON).status_code == 200
    assert requests.post(made["url"][:-1] + "x", allow_redirects=False).status_code == 404


def test_simulated_annotators_are_named_so_and_people_never(invite: Any) -> None:
    simulated = invite(*[f"s{i}" for i in range(50)], kind="simulated")
    people = invite(*[f"p{i}" for i in range(50)])
    assert all(made["worker_id"].startswith("ASIM") for made in simulated)
    assert not any(made["worker_id"].startswith("ASIM") for made in people)
    again = invite("s0", kind="simulated")
    assert again[0]["worker_id"] == simulated[0]["worker_id"]


def test_invitations_need_the_admin_token(server: Any) -> None:
    body = {"kind": "person", "labels": ["x"]}
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        answer = requests.post(f"{server.url}/admin/invitations", json=body, headers=headers)
        assert answer.status_code == 401


def test_a_session_that_the_browser_brought_is_never_used(server: Any, invite: Any) -> None:
    [made] = invite("ann")
    planted = "planted-by-a-stranger"
    session = requests.Session()
    session.cookies.set("collect_session", planted)
    answer = session.post(made["url"], allow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()
    stranger = {"Cookie": f"collect_session={planted}", **JSON}
    assert requests.get(f"{server.url}/tasks", headers=stranger).status_code == 401


def test_a_form_without_the_sessions_token_or_from_elsewhere_is_refused(
    new_worker: Any, new_hit: Any
) -> None:
    hit = new_hit()["HITId"]
    worker = new_worker()
    url = f"{worker.url}/hits/{hit}/accept"
    assert worker.session.post(url, headers=JSON).status_code == 403
    assert worker.session.post(url, data={"csrf": "x"}, headers=JSON).status_code == 403
    token = {"csrf": worker.tasks()["csrf"]}
    foreign = {"Origin": "https://evil.example", **JSON}
    assert worker.session.post(url, data=token, headers=foreign).status_code == 403
    assert worker.session.post(url, data=token, headers=JSON).status_code == 200


def test_a_host_name_that_is_not_ours_is_refused(server: Any) -> None:
    answer = requests.get(f"{server.url}/", headers={"Host": "rebound.example"})
    assert answer.status_code == 400


def test_nobody_reaches_another_workers_assignment(new_worker: Any, new_hit: Any) -> None:
    ann, eve = new_worker("ann"), new_worker("eve")
    assignment = ann.accept(new_hit()["HITId"])
    for path in (f"/work/{assignment}", f"/frame/{assignment}"):
        assert eve.session.get(f"{eve.url}{path}").status_code == 404
        assert ann.session.get(f"{ann.url}{path}").status_code == 200
        assert requests.get(f"{ann.url}{path}").status_code == 401
    assert eve.post(f"/work/{assignment}/return").status_code == 404
    assert ann.send("3" + "A" * 29, words="guess").status_code == 404


def test_a_worker_gets_each_hit_once_and_a_returned_one_again(
    new_worker: Any, new_hit: Any
) -> None:
    hit = new_hit(MaxAssignments=3)
    worker = new_worker()
    first = worker.accept(hit["HITId"])
    assert worker.post(f"/hits/{hit['HITId']}/accept").status_code == 409
    assert worker.post(f"/tasks/{hit['HITGroupId']}/accept").status_code == 409
    worker.post(f"/work/{first}/return", reason="too hard")
    second = worker.accept(hit["HITId"])
    assert second != first
    worker.submit(second, words="x")
    assert worker.tasks()["groups"] == []


def test_a_requesters_page_runs_in_an_origin_of_its_own(new_worker: Any, new_hit: Any) -> None:
    worker = new_worker()
    assignment = worker.accept(new_hit()["HITId"])
    frame = worker.session.get(f"{worker.url}/frame/{assignment}")
    policy = frame.headers["content-security-policy"]
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    page = worker.session.get(f"{worker.url}/work/{assignment}")
    assert "allow-same-origin" not in page.text
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


def test_the_form_points_here_even_without_scripts(new_worker: Any, new_hit: Any) -> None:
    worker = new_worker()
    assignment = worker.accept(new_hit()["HITId"])
    frame = worker.session.get(f"{worker.url}/frame/{assignment}").text
    [action] = re.findall(r'action="([^"]+)"', frame)
    assert action == f"{worker.url}/mturk/externalSubmit?assignmentId={assignment}"
    answer = requests.post(action, data={"assignmentId": "", "words": "no script"})
    assert answer.status_code == 200
    assert "Your work arrived" in answer.text


def test_a_draft_comes_back_and_cannot_break_out_of_its_script(
    new_worker: Any, new_hit: Any
) -> None:
    worker = new_worker()
    assignment = worker.accept(new_hit()["HITId"])
    draft = {"fields": {"words": ["</script><script>alert(1)</script>"]}, "storage": {}}
    answer = worker.session.post(
        f"{worker.url}/work/{assignment}/draft",
        data=json.dumps(draft),
        headers={"X-CSRF-Token": worker.tasks()["csrf"]},
    )
    assert answer.status_code == 204
    frame = worker.session.get(f"{worker.url}/frame/{assignment}").text
    assert "</script><script>alert" not in frame
    [settings] = re.findall(r"window\.__crowd=(\{.*?\});</script>", frame)
    assert json.loads(settings)["draft"] == draft


def test_large_and_broken_forms_are_refused_and_nothing_is_lost(
    new_worker: Any, new_hit: Any, mturk: Any
) -> None:
    hit = new_hit()["HITId"]
    worker = new_worker()
    assignment = worker.accept(hit)
    assert worker.send(assignment, words="x" * (2 << 20)).status_code == 413
    url = f"{worker.url}/mturk/externalSubmit"
    broken = {"Content-Type": "multipart/form-data", **JSON}
    assert requests.post(url, data=b"--x", headers=broken).status_code == 400
    files = {"words": (None, "x" * 1_000_000), "assignmentId": (None, assignment)}
    assert requests.post(url, files=files, headers=JSON).status_code == 200
    [found] = mturk.list_assignments_for_hit(HITId=hit)["Assignments"]
    assert "x" * 1_000_000 in found["Answer"]


def test_a_blocked_worker_sees_and_gets_nothing(mturk: Any, new_worker: Any, new_hit: Any) -> None:
    hit = new_hit()["HITId"]
    worker = new_worker()
    mturk.create_worker_block(WorkerId=worker.worker_id, Reason="spam")
    assert worker.tasks()["groups"] == []
    assert worker.post(f"/hits/{hit}/accept").status_code == 403
    mturk.delete_worker_block(WorkerId=worker.worker_id)
    worker.do(hit)


def test_history_earnings_and_messages(mturk: Any, new_worker: Any, new_hit: Any) -> None:
    worker = new_worker()
    first, second = worker.do(new_hit()["HITId"]), worker.do(new_hit()["HITId"])
    mturk.approve_assignment(AssignmentId=first)
    mturk.reject_assignment(AssignmentId=second, RequesterFeedback="Empty <b>answer</b>")
    mturk.send_bonus(
        WorkerId=worker.worker_id, AssignmentId=first, BonusAmount="1.00", Reason="good"
    )
    mturk.notify_workers(
        Subject="Hello", MessageText="<script>x</script>", WorkerIds=[worker.worker_id]
    )
    history = worker.session.get(f"{worker.url}/history").text
    assert "not approved" in history
    assert "Empty &lt;b&gt;answer" in history
    earnings = worker.session.get(f"{worker.url}/earnings").text
    assert "$0.40" in earnings
    assert "$1.00" in earnings
    messages = worker.session.get(f"{worker.url}/messages").text
    assert "&lt;script&gt;x" in messages


def test_photos_are_served_by_hash_and_nothing_else(server: Any, project: Any) -> None:
    data = b"\xff\xd8\xff\xe0" + b"jpeg" * 50
    digest = hashlib.sha256(data).hexdigest()
    path = project.photo_file(digest)
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    html = b"<script>alert(1)</script>"
    other = hashlib.sha256(html).hexdigest()
    project.photo_file(other).parent.mkdir(parents=True)
    project.photo_file(other).write_bytes(html)
    answer = requests.get(f"{server.url}/photos/{digest}")
    assert answer.content == data
    assert answer.headers["content-type"] == "image/jpeg"
    assert "immutable" in answer.headers["cache-control"]
    assert requests.get(f"{server.url}/photos/{other}").status_code == 404
    for name in ("0" * 64, "..%2f..%2fcollect.toml", "a" * 63):
        assert requests.get(f"{server.url}/photos/{name}").status_code == 404


def test_the_requester_page_needs_the_admin_token(server: Any, new_hit: Any) -> None:
    new_hit()
    session = requests.Session()
    url = f"{server.url}/requester"
    assert session.get(url).url == f"{url}/sign-in"
    assert session.post(f"{url}/sign-in", data={"token": "wrong"}).status_code == 403
    page = session.post(f"{url}/sign-in", data={"token": server.keys.admin_token})
    assert "Look at birds" in page.text
    assert session.get(f"{server.url}/tasks", headers=JSON).status_code == 401


def test_the_requester_invites_people_and_reviews_their_work_on_the_site(
    server: Any, mturk: Any, new_hit: Any, new_worker: Any
) -> None:
    hit = new_hit(MaxAssignments=2)["HITId"]
    good, bad = new_worker("ann").do(hit, words="fine <b>"), new_worker("bob").do(hit, words="x")
    boss = requests.Session()
    url = f"{server.url}/requester"
    boss.post(f"{url}/sign-in", data={"token": server.keys.admin_token})
    page = boss.get(f"{url}/submissions").text
    assert "fine &lt;b&gt;" in page
    [csrf] = re.findall(r'name="csrf-token" content="([^"]+)"', page)
    forged = boss.post(f"{url}/submissions/{good}", data={"decision": "approve"})
    assert forged.status_code == 403
    boss.post(f"{url}/submissions/{good}", data={"csrf": csrf, "decision": "approve"})
    answer = boss.post(f"{url}/submissions/{bad}", data={"csrf": csrf, "decision": "reject"})
    assert "A rejection needs a reason." in answer.text
    boss.post(
        f"{url}/submissions/{bad}", data={"csrf": csrf, "decision": "reject", "reason": "Empty."}
    )
    states = {
        a["AssignmentId"]: a["AssignmentStatus"]
        for a in mturk.list_assignments_for_hit(HITId=hit)["Assignments"]
    }
    assert states == {good: "Approved", bad: "Rejected"}
    people = boss.post(f"{url}/people", data={"csrf": csrf, "names": "Cleo\n\nDan\n"}).text
    links = re.findall(r"http://[^<]+/invite/[\w-]+", people)
    assert len(links) == 2
    assert requests.post(links[0], allow_redirects=False).status_code == 303
    assert "-$0.40" in boss.get(f"{url}/spending").text
    for path in ("/people", "/submissions", "/spending"):
        assert requests.get(url + path).status_code == 401


def test_stand_ins_take_the_place_of_amazons_scripts(
    new_worker: Any, new_hit: Any, question: str
) -> None:
    scripts = (
        "<script src='https://s3.amazonaws.com/mturk-public/externalHIT_v1.js'></script>"
        '<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>'
    )
    worker = new_worker()
    assignment = worker.accept(
        new_hit(Question=question.replace("<form", scripts + "<form"))["HITId"]
    )
    frame = worker.session.get(f"{worker.url}/frame/{assignment}").text
    assert "amazonaws.com" not in frame
    assert "crowd.aws" not in frame
    for name in re.findall(r"/static/[\w-]+\.js", frame):
        assert requests.get(worker.url + name).status_code == 200, name
