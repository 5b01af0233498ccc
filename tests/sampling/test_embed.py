"""Embeddings equal timm's own pipeline, and a killed run goes on without repeating a shard."""

from __future__ import annotations

import hashlib
import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import timm
import torch
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.files import read_parquet, write_bytes, write_parquet
from pairs_to_words.project.layout import Layout
from pairs_to_words.sampling import embed
from pairs_to_words.sampling.embeddings import open_embeddings
from pairs_to_words.sampling.shards import Written, embed_photos
from PIL import Image
from timm.data.config import resolve_model_data_config

IDENTITY = {"encoder": "test"}


def picture(seed: int, size: tuple[int, int] = (90, 70)) -> Image.Image:
    """A smooth random colour picture."""
    rng = np.random.default_rng(seed)
    return Image.fromarray(rng.integers(0, 255, (6, 8, 3), dtype=np.uint8)).resize(size)


def jpeg(image: Image.Image, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", **options)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def encoder() -> embed.Encoder:
    return embed.load_encoder(precision="float32", device="cpu")


@pytest.fixture
def photos(project: Layout, build: SimpleNamespace) -> pa.Table:
    """Forty photos with files in a project's catalogue."""
    table = build.photos([(1, i) for i in range(40)])
    contents = [jpeg(picture(i)) for i in range(40)]
    hashes = [hashlib.sha256(content).hexdigest() for content in contents]
    for key, content in zip(hashes, contents, strict=True):
        write_bytes(project.photo_file(key), content)
    write_parquet(project.catalog / "photos.parquet", table)
    index = build.index(table["photo_id"].to_pylist(), hashes, [0] * 40)
    write_parquet(project.photos / "index.parquet", index)
    return table


def run(
    project: Layout, photos: pa.Table, encode: object, *, shard_rows: int = 8, **identity: str
) -> Written:
    return embed_photos(
        photos,
        read_parquet(project.photos / "index.parquet"),
        project.photos,
        project.embeddings("test"),
        IDENTITY | identity,
        encode,  # type: ignore[arg-type]
        dimensions=4,
        inputs={"photos": str(photos.num_rows)},
        shard_rows=shard_rows,
    )


def first_bytes(files: Sequence[Path], advance: object) -> np.ndarray:
    """A tiny stand-in for a network: a function of each file's content."""
    digests = [hashlib.sha256(file.read_bytes()).digest()[:4] for file in files]
    return np.array([list(digest) for digest in digests], np.float32)


def test_features_equal_timm_with_its_own_transform(encoder: embed.Encoder, tmp_path: Path) -> None:
    files = []
    for i, size in enumerate([(500, 375), (375, 500), (224, 224), (1000, 300)]):
        files.append(tmp_path / f"{i}.jpg")
        files[-1].write_bytes(jpeg(picture(i, size), quality=95))
    model, _hash = embed._with_weights(embed.PACKAGED_ENCODER, None)
    model.eval()
    transform = timm.data.create_transform(**resolve_model_data_config(model))
    batch = torch.stack([transform(Image.open(file)) for file in files])
    with torch.inference_mode():
        expected = model.forward_head(model.forward_features(batch), pre_logits=True).numpy()
        grid = model.forward_features(batch).flatten(2).transpose(1, 2).numpy()
    got = embed.pooled_features(encoder, files).astype(np.float32)
    cosine = (got * expected).sum(1)
    cosine /= np.linalg.norm(got, axis=1) * np.linalg.norm(expected, axis=1)
    assert cosine.min() > 0.999
    cells = embed.grid_features(files, encoder)
    assert cells.shape == (4, 49, 1280)
    assert cells.dtype == np.float16
    assert np.corrcoef(cells.ravel(), grid.ravel())[0, 1] > 0.999


def test_batch_size_and_workers_do_not_change_a_bit_of_order(
    encoder: embed.Encoder, tmp_path: Path
) -> None:
    files = []
    for i in range(9):
        files.append(tmp_path / f"{i}.jpg")
        files[-1].write_bytes(jpeg(picture(i)))
    one = embed.pooled_features(encoder, files, workers=1)
    three = embed.pooled_features(encoder, files, workers=3)
    assert (one == three).all()
    by_two = embed.pooled_features(encoder, files, batch_size=2)
    assert np.abs(one.astype(np.float32) - by_two).max() < 0.01


def test_threads_of_the_caller_are_given_back(encoder: embed.Encoder, tmp_path: Path) -> None:
    file = tmp_path / "a.jpg"
    file.write_bytes(jpeg(picture(0)))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        embed.pooled_features(encoder, [file])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_folding_leaves_what_the_network_computes() -> None:
    torch.manual_seed(0)
    model = timm.create_model("tf_efficientnet_lite0", pretrained=False).eval()
    batch = torch.randn(2, 3, 96, 96)
    with torch.inference_mode():
        before = model(batch)
        assert embed.fold_batch_norm(model) == 49
        after = model(batch)
    assert torch.allclose(before, after, atol=1e-4)


@pytest.mark.parametrize("kind", ["cmyk", "grey", "rotated", "png", "gif"])
def test_unusual_photos_become_upright_rgb(
    encoder: embed.Encoder, tmp_path: Path, kind: str
) -> None:
    upright = picture(3, (120, 80))
    plain, file = tmp_path / "plain.png", tmp_path / "unusual"
    reference = upright.convert("L").convert("RGB") if kind == "grey" else upright
    reference.save(plain)
    if kind == "cmyk":
        upright.convert("CMYK").save(file, "JPEG", quality=100)
    elif kind == "grey":
        upright.convert("L").save(file, "PNG")
    elif kind == "rotated":
        exif = Image.Exif()
        exif[0x0112] = 6  # "rotate 90 degrees clockwise to show"
        upright.rotate(90, expand=True).save(file, "JPEG", quality=100, exif=exif)
    elif kind == "png":
        upright.convert("RGBA").save(file, "PNG")
    else:
        upright.quantize(256).save(file, "GIF")
    got = embed.read_photo(file, encoder.preprocessing).float()
    expected = embed.read_photo(plain, encoder.preprocessing).float()
    assert got.shape == (3, 224, 224)
    assert (got - expected).abs().mean() < 10  # upside down or in false colours: above 40


def test_a_file_that_is_no_photo_is_named(encoder: embed.Encoder, tmp_path: Path) -> None:
    file = tmp_path / "page.jpg"
    file.write_bytes(b"<html>not found</html>")
    with pytest.raises(CouldNotError, match=r"page\.jpg is no readable photo"):
        embed.pooled_features(encoder, [file])
    with pytest.raises(CouldNotError, match=r"gone\.jpg cannot be read"):
        embed.pooled_features(encoder, [tmp_path / "gone.jpg"])


def test_an_unknown_encoder_is_answered_with_near_names() -> None:
    with pytest.raises(UserError, match="inception_v4"):
        embed.load_encoder("inception_v")


def test_rows_are_in_order_of_photo_id_and_shards_are_whole(
    project: Layout, photos: pa.Table
) -> None:
    done = run(project, photos, first_bytes)
    assert (done.photos, done.shards, done.reused, done.current) == (40, 5, 0, False)
    found = open_embeddings(project.embeddings("test"))
    assert found.photo_ids.tolist() == sorted(photos["photo_id"].to_pylist())
    assert len(found) == 40
    assert found.dimensions == 4


def test_unchanged_inputs_do_nothing(project: Layout, photos: pa.Table) -> None:
    run(project, photos, first_bytes)
    before = {p: p.stat().st_mtime_ns for p in project.embeddings("test").iterdir()}
    assert run(project, photos, None).current
    assert before == {p: p.stat().st_mtime_ns for p in project.embeddings("test").iterdir()}


def test_another_encoder_makes_every_shard_again(project: Layout, photos: pa.Table) -> None:
    run(project, photos, first_bytes)
    assert run(project, photos, first_bytes, weights="other").reused == 0


def test_new_photos_keep_the_shards_before_them(project: Layout, photos: pa.Table) -> None:
    run(project, photos.slice(0, 20), first_bytes)
    done = run(project, photos, first_bytes)
    assert (done.reused, done.shards) == (2, 5)
    run(project, photos.slice(0, 20), first_bytes)
    assert len(list(project.embeddings("test").glob("shard-*.npy"))) == 3


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e6])
def test_a_feature_that_is_not_finite_is_refused_with_its_photo(
    project: Layout, photos: pa.Table, value: float
) -> None:
    def broken(files: Sequence[Path], advance: object) -> np.ndarray:
        rows = first_bytes(files, advance)
        if len(broken.calls) == 2:  # type: ignore[attr-defined]
            rows[5, 1] = value
        broken.calls.append(len(rows))  # type: ignore[attr-defined]
        return rows

    broken.calls = []  # type: ignore[attr-defined]
    with pytest.raises(CouldNotError, match="photo 22 is not finite"):
        run(project, photos, broken)
    names = sorted(p.name for p in project.embeddings("test").glob("shard-*.npy"))
    assert names == ["shard-00000.npy", "shard-00001.npy"]
    with pytest.raises(UserError, match="collect embed"):
        open_embeddings(project.embeddings("test"))


def test_a_killed_run_finishes_with_the_same_bytes_and_repeats_no_finished_shard(
    project: Layout, photos: pa.Table
) -> None:
    command = [sys.executable, "-m", "pairs_to_words.collect.main", "embed"]
    command += ["--shard-size", "3", "--project", str(project.root), "--workers", "1"]
    folder = project.embeddings("tf_efficientnet_lite0")
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(list(folder.glob("shard-*.json"))) < 3 and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (folder / "manifest.json").exists()
    finished = {p: p.stat().st_mtime_ns for p in folder.glob("shard-*.json")}
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    assert (report["photos"], report["shards"]) == (40, 14)
    assert report["reused"] == len(finished) >= 3
    assert all(path.stat().st_mtime_ns == moment for path, moment in finished.items())
    assert not [path for path in folder.iterdir() if "partial" in path.name]
    found = open_embeddings(folder)
    index = read_parquet(project.photos / "index.parquet").to_pydict()
    of = dict(zip(index["photo_id"], index["sha256"], strict=True))
    files = [project.photo_file(of[photo]) for photo in found.photo_ids.tolist()]
    assert found.photo_ids.tolist() == sorted(index["photo_id"])
    rows = np.concatenate([np.load(shard) for shard in found.shards])
    encoder = embed.load_encoder()
    expected = [
        embed.pooled_features(encoder, files[start : start + 3]) for start in range(0, 40, 3)
    ]
    assert (rows == np.concatenate(expected)).all()
