"""Other people's clients, unchanged: the AWS command line and the JavaScript SDK.

They are not among our dependencies. `aws` (PyPI `awscli`) is found on the PATH or named by
COLLECT_TEST_AWS; COLLECT_TEST_NODE_MODULES names a folder with `@aws-sdk/client-mturk` (npm).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.parametrize("database", ["sqlite"], indirect=True),
    pytest.mark.slow,
]


def environment(server: Any) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "AWS_ACCESS_KEY_ID": server.keys.access_key_id,
        "AWS_SECRET_ACCESS_KEY": server.keys.secret_access_key,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server.url,
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_PAGER": "",
    }


@pytest.fixture
def aws(server: Any) -> Any:
    """Run `aws mturk OPERATION` with JSON input; returns exit code, parsed output, error text."""
    program = os.environ.get("COLLECT_TEST_AWS") or shutil.which("aws")
    if not program:
        pytest.skip("no `aws` on the PATH and COLLECT_TEST_AWS is not set")

    def run(operation: str, **params: Any) -> tuple[int, dict[str, Any], str]:
        done = subprocess.run(
            [program, "mturk", operation, "--cli-input-json", json.dumps(params)],
            capture_output=True,
            text=True,
            env=environment(server),
            timeout=120,
        )
        output = json.loads(done.stdout) if done.stdout.strip() else {}
        return done.returncode, output, done.stderr

    return run


def test_the_aws_command_line_publishes_reviews_and_pays(
    aws: Any, new_worker: Any, question: str
) -> None:
    code, made, error = aws(
        "create-hit",
        Title="t",
        Description="d",
        Reward="0.10",
        LifetimeInSeconds=3600,
        AssignmentDurationInSeconds=600,
        Question=question,
        UniqueRequestToken="once",
    )
    assert code == 0, error
    hit = made["HIT"]["HITId"]
    code, _, error = aws(
        "create-hit",
        Title="t",
        Description="d",
        Reward="0.10",
        LifetimeInSeconds=3600,
        AssignmentDurationInSeconds=600,
        Question=question,
        UniqueRequestToken="once",
    )
    assert code != 0
    assert f'The HIT with ID "{hit}" already exists.' in error
    worker = new_worker()
    assignment = worker.do(hit, words="by hand")
    code, found, _ = aws("list-assignments-for-hit", HITId=hit)
    assert found["Assignments"][0]["AssignmentId"] == assignment
    assert aws("approve-assignment", AssignmentId=assignment)[0] == 0
    code, _, error = aws(
        "send-bonus",
        AssignmentId=assignment,
        WorkerId=worker.worker_id,
        BonusAmount="0.9752",
        Reason="r",
    )
    assert "Member must satisfy regular expression pattern" in error
    assert aws("get-account-balance")[1]["AvailableBalance"] == "99999.88"
    assert aws("delete-hit", HITId=hit)[0] == 0


def test_the_aws_command_line_reads_every_refusal(aws: Any) -> None:
    for operation, params in (
        ("get-hit", {"HITId": "3NONE"}),
        ("get-assignment", {"AssignmentId": "3NONE"}),
        ("get-qualification-type", {"QualificationTypeId": "3NONE"}),
        ("list-bonus-payments", {}),
        ("notify-workers", {"Subject": "", "MessageText": "m", "WorkerIds": ["A1"]}),
    ):
        code, _, error = aws(operation, **params)
        assert code != 0
        assert "(RequestError)" in error or "(ParameterValidationError)" in error, error


SCRIPT = """
import { createRequire } from "node:module";
const require = createRequire(process.env.MODULES + "/");
const sdk = require("@aws-sdk/client-mturk");
const client = new sdk.MTurkClient({ endpoint: process.env.AWS_ENDPOINT_URL, maxAttempts: 1 });
const call = (name, input = {}) => client.send(new sdk[name + "Command"](input));
const out = {};
const { HIT } = await call("CreateHIT", { Title: "t", Description: "d", Reward: "0.10",
  LifetimeInSeconds: 3600, AssignmentDurationInSeconds: 600, Question: process.env.QUESTION });
out.hit = HIT.HITId;
out.created = HIT.CreationTime instanceof Date && Math.abs(HIT.CreationTime - Date.now()) < 60000;
out.balance = (await call("GetAccountBalance")).AvailableBalance;
out.listed = (await call("ListHITs")).HITs.map((hit) => hit.HITId);
await call("UpdateExpirationForHIT", { HITId: HIT.HITId, ExpireAt: new Date(0) });
out.status = (await call("GetHIT", { HITId: HIT.HITId })).HIT.HITStatus;
try { await call("GetHIT", { HITId: "3NONE" }); } catch (error) {
  out.error = [error.name, error.TurkErrorCode, error instanceof sdk.RequestError];
}
await call("DeleteHIT", { HITId: HIT.HITId });
console.log(JSON.stringify(out));
"""


def test_the_javascript_sdk_publishes_reads_and_understands_refusals(
    server: Any, question: str, tmp_path: Path
) -> None:
    modules = os.environ.get("COLLECT_TEST_NODE_MODULES")
    node = shutil.which("node")
    if not modules or not node:
        pytest.skip("no node, or COLLECT_TEST_NODE_MODULES is not set")
    script = tmp_path / "use.mjs"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [node, str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(server)
        | {"MODULES": modules, "QUESTION": question, "AWS_REGION": "us-east-1"},
    )
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["listed"] == [out["hit"]]
    assert out["created"] is True
    assert out["balance"] == "99999.88"
    assert out["status"] == "Reviewable"
    assert out["error"] == ["RequestError", "AWS.MechanicalTurk.HITDoesNotExist", True]
