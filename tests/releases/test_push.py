"""Push to a real local S3 server: verified there, resumable, listed last, readable from its URL."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from pairs_to_words.collect.main import main
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.layout import Layout
from pairs_to_words.releases.push import connect_s3, push_release
from pairs_to_words.releases.read import Release, open_release

server = pytest.importorskip("moto.server")


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    running.start()
    url = f"http://127.0.0.1:{port}"
    client = boto3.client("s3", endpoint_url=url)
    client.create_bucket(Bucket="data")
    yield url
    for entry in client.list_objects_v2(Bucket="data").get("Contents", []):
        client.delete_object(Bucket="data", Key=entry["Key"])
    client.delete_bucket(Bucket="data")
    running.stop()


def keys(endpoint: str) -> set[str]:
    found = connect_s3(endpoint).list_objects_v2(Bucket="data").get("Contents", [])
    return {entry["Key"] for entry in found}


def test_every_file_is_sent_once_and_the_second_push_sends_nothing(
    release: Release, endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {p.relative_to(release.path).as_posix() for p in release.path.rglob("*") if p.is_file()}
    arguments = ["release", "push", f"{release.path}/", "s3://data/birds/1.0.0"]
    assert main([*arguments, "--endpoint", endpoint, "--dry-run"]) == 0
    assert keys(endpoint) == set()
    assert main([*arguments, "--endpoint", endpoint]) == 0
    assert keys(endpoint) == {f"birds/1.0.0/{name}" for name in names}
    capsys.readouterr()
    assert main([*arguments, "--endpoint", endpoint, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["sent"] == []
    assert set(again["there"]) == names


def test_the_rows_can_be_read_straight_from_the_address(release: Release, endpoint: str) -> None:
    push_release(connect_s3(endpoint), release, "s3://data/birds")
    storage = pafs.S3FileSystem(
        access_key="test-key",
        secret_key="test-secret",
        endpoint_override=endpoint.removeprefix("http://"),
        scheme="http",
        region="us-east-1",
    )
    name = "data/birds/data/train-00000-of-00001.parquet"
    assert pq.read_table(name, filesystem=storage).equals(release.rows("train"))


def test_bytes_that_change_on_the_way_are_found_and_deleted(
    release: Release, endpoint: str
) -> None:
    client = connect_s3(endpoint)

    class Flipping:
        """A storage that keeps one flipped byte of one file."""

        def __getattr__(self, name: str) -> Any:
            return getattr(client, name)

        def upload_file(self, path: str, bucket: str, key: str, **more: Any) -> None:
            content = Path(path).read_bytes()
            if key.endswith("judgments.parquet"):
                content = content[:100] + bytes([content[100] ^ 1]) + content[101:]
            client.put_object(
                Bucket=bucket, Key=key, Body=content, Metadata=more["ExtraArgs"]["Metadata"]
            )

    with pytest.raises(CouldNotError, match=r"judgments.parquet came back with other bytes"):
        push_release(Flipping(), release, "s3://data/birds")
    assert not {key for key in keys(endpoint) if key.endswith(("judgments.parquet", "FEST.json"))}
    assert push_release(client, release, "s3://data/birds").sent


def test_another_release_is_never_overwritten(
    release: Release, endpoint: str, built: Layout
) -> None:
    push_release(connect_s3(endpoint), release, "s3://data/birds")
    before = keys(endpoint)
    other = ["release", "remove", "--worker", "AWRITERONE00", "--yes"]
    assert main([*other, "--project", str(built.root)]) == 0
    second = open_release(built.release("1.1.0"))
    with pytest.raises(UserError, match="is of another release"):
        push_release(connect_s3(endpoint), second, "s3://data/birds")
    assert keys(endpoint) == before
    with pytest.raises(UserError, match="were removed since"):
        push_release(connect_s3(endpoint), release, "s3://data/elsewhere")


@pytest.mark.parametrize("address", ["data/birds", "s3:/data", "http://data/x", "s3://UPPER/x"])
def test_an_address_is_s3_bucket_prefix(release: Release, endpoint: str, address: str) -> None:
    with pytest.raises(UserError, match="Expected s3://BUCKET/PREFIX"):
        push_release(connect_s3(endpoint), release, address)


def test_a_storage_that_is_not_there_says_so(release: Release, endpoint: str) -> None:
    with pytest.raises(CouldNotError, match="continues"):
        push_release(connect_s3(endpoint), release, "s3://nowhere/birds")


def test_a_killed_push_is_never_listed_and_is_finished_by_the_next(
    release: Release, endpoint: str
) -> None:
    command = [
        sys.executable, "-m", "pairs_to_words.collect.main", "release", "push",
        f"{release.path}/", "s3://data/birds", "--endpoint", endpoint,
    ]  # fmt: skip
    killed = 0
    for wanted in (1, 4, 9):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stop = threading.Event()
        while process.poll() is None and not stop.is_set():
            if len(keys(endpoint)) >= wanted:
                process.kill()
                killed += 1
                stop.set()
            time.sleep(0.005)
        process.wait()
        if "birds/MANIFEST.json" in keys(endpoint):
            break
        with pytest.raises(Exception, match=r"404|Not Found|NoSuchKey"):
            connect_s3(endpoint).head_object(Bucket="data", Key="birds/MANIFEST.json")
    assert killed
    pushed = push_release(connect_s3(endpoint), release, "s3://data/birds")
    assert pushed.there
    assert "birds/MANIFEST.json" in keys(endpoint)
