"""A training run: learns what is there, resumes exactly, says what is wrong in one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.layout import photo_file
from pairs_to_words.project.records import PARAGRAPHS
from pairs_to_words.training import loop
from pairs_to_words.training.config import TrainConfig, build_config
from pairs_to_words.training.evaluate import whole_sentences
from pairs_to_words.training.run import Source, open_run, train_run
from pairs_to_words.training.vocabulary import build_vocabulary

COLOURS = ("black", "white", "brown", "yellow", "blue", "red")
CPU = torch.device("cpu")
TINY = (
    "model.width=32",
    "model.heads=2",
    "model.feedforward=64",
    "model.decoder_layers=1",
    "model.grid_components=0",
    "model.dropout=0",
    "train.label_smoothing=0",
    "train.warmup_steps=5",
    "train.patience=0",
    "decode.method=greedy",
)


def photo(colour: int, number: int) -> str:
    """A photo's hash that says what is on it: colour, then a serial number."""
    return f"{colour:02x}{number:062x}"


def encode(files: Sequence[Path]) -> np.ndarray:
    """Grids in which each colour is a direction: what a perfect encoder would give."""
    out = np.zeros((len(files), 4, 8), dtype=np.float16)
    for row, file in enumerate(files):
        out[row, :, int(file.name[:2], 16)] = 3.0
        out[row, :, 7] = int(file.name[-2:], 16) / 256
    return out


def release_rows(pairs: int) -> pa.Table:
    rng = np.random.default_rng(0)
    rows = []
    for number in range(pairs):
        one, two = (int(c) for c in rng.choice(len(COLOURS), size=2, replace=False))
        split = "train" if number % 10 < 8 else ("val" if number % 10 == 8 else "test")
        text = f"Animal 1 is {COLOURS[one]}, while animal 2 is {COLOURS[two]}."
        sides = {}
        for side, colour in ((1, one), (2, two)):
            sides |= {
                f"photo_{side}_id": 2 * number + side,
                f"photo_{side}_sha256": photo(colour, 2 * number + side),
                f"photo_{side}_url": "u",
                f"photo_{side}_license": "CC0-1.0",
                f"photo_{side}_attribution": "a",
                f"photo_{side}_species_id": 1,
                f"photo_{side}_species": "s",
                f"photo_{side}_common_name": "c",
            }
        rows.append(
            {
                "row_id": f"r{number:04d}",
                "pair_id": f"p{number:04d}",
                "text": text,
                "writer": "w1",
                "simulated": True,
                "split": split,
                "level_requested": "class",
                "level_actual": "class",
            }
            | sides
        )
    return pa.Table.from_pylist(rows, schema=PARAGRAPHS)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    rows = release_rows(60)
    photos = tmp_path / "photos"
    for side in (1, 2):
        for sha in rows[f"photo_{side}_sha256"].to_pylist():
            file = photo_file(photos, sha)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"a photo")
    return Source(
        release="1.0.0",
        release_hash="ab" * 32,
        paragraphs=rows,
        photos=photos,
        features=tmp_path / "features",
        encoder={"encoder": "test"},
        encode=encode,
    )


def config(*settings: str) -> TrainConfig:
    return build_config("small", "neural-naturalist", [*TINY, *settings])


def test_a_model_learns_to_name_the_colours_of_pairs_it_never_saw(
    source: Source, tmp_path: Path
) -> None:
    metrics = train_run(
        source, tmp_path / "run", config("train.max_epochs=60", "train.lr=5e-3"), seed=0, device=CPU
    )
    rows = {row["model"]: row for row in metrics["splits"]["test"]}
    assert rows["neural-naturalist"]["rouge_l"] > 0.95
    assert rows["neural-naturalist"]["rouge_l"] > rows["most-frequent"]["rouge_l"] + 0.1
    assert rows["neural-naturalist"]["bleu_4"] > rows["text-only"]["bleu_4"] + 0.1
    assert metrics["swap_sensitivity"]["test"] > 0.9
    samples = json.loads((tmp_path / "run" / "samples.json").read_text())
    assert {"pair_id", "photo_1_sha256", "references", "output", "level"} <= samples[0].keys()


def test_a_small_set_is_learnt_by_heart(source: Source, tmp_path: Path) -> None:
    settings = config("train.overfit=16", "train.max_epochs=120", "train.lr=5e-3")
    metrics = train_run(source, tmp_path / "run", settings, seed=0, device=CPU)
    assert metrics["splits"]["test"][0]["bleu_4"] > 0.99
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [line["loss"] for line in log if "loss" in line][-1] < 0.05


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return open_run(folder, CPU).model.state_dict()


def test_two_runs_of_one_seed_are_equal_bit_for_bit(source: Source, tmp_path: Path) -> None:
    settings = config("train.max_epochs=3", "model.dropout=0.2")
    outcomes = [
        train_run(source, tmp_path / name, settings, seed=7, device=CPU) for name in ("a", "b")
    ]
    assert outcomes[0] == outcomes[1]
    other = train_run(source, tmp_path / "c", settings, seed=8, device=CPU)
    assert all(
        torch.equal(tensor, weights(tmp_path / "b")[name])
        for name, tensor in weights(tmp_path / "a").items()
    )
    assert other["run_key"] != outcomes[0]["run_key"]


def test_an_interrupted_run_continues_as_if_nothing_had_happened(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config("train.max_epochs=4", "model.dropout=0.2", "train.batch_size=8")
    whole = train_run(source, tmp_path / "whole", settings, seed=3, device=CPU)
    steps = 0
    take_step = loop._Trainer.train_step

    def fail_later(self: loop._Trainer, chosen: np.ndarray) -> tuple[float, int]:
        nonlocal steps
        steps += 1
        if steps == 15:
            raise MemoryError
        return take_step(self, chosen)

    with monkeypatch.context() as patch:
        patch.setattr(loop._Trainer, "train_step", fail_later)
        with pytest.raises(MemoryError):
            train_run(source, tmp_path / "cut", settings, seed=3, device=CPU)
    resumed = train_run(source, tmp_path / "cut", settings, seed=3, device=CPU)
    assert resumed == whole
    first, second = weights(tmp_path / "whole"), weights(tmp_path / "cut")
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())
    logs = [(tmp_path / n / "log.jsonl").read_text().splitlines() for n in ("whole", "cut")]
    losses = [[json.loads(x)["loss"] for x in log if "loss" in x] for log in logs]
    assert losses[0] == losses[1]


def test_a_text_that_runs_into_the_limit_ends_with_a_whole_sentence() -> None:
    vocabulary = build_vocabulary(["animal 1 is red. animal 2 is blue."] * 2, 1)
    ids = vocabulary.encode("animal 1 is red. animal 2 is", 64)[:-1]
    cut = whole_sentences(ids, vocabulary, len(ids))
    assert vocabulary.text(cut) == "animal 1 is red."
    assert whole_sentences(ids, vocabulary, len(ids) + 1) == ids
    unfinished = vocabulary.encode("animal 2 is", 64)[:-1]
    assert whole_sentences(unfinished, vocabulary, 3) == unfinished


def test_a_finished_run_is_left_alone(source: Source, tmp_path: Path) -> None:
    settings = config("train.max_epochs=1")
    notes: list[str] = []
    first = train_run(source, tmp_path / "run", settings, seed=0, device=CPU)
    again = train_run(source, tmp_path / "run", settings, seed=0, device=CPU, note=notes.append)
    assert again == first
    assert "finished already" in notes[0]


def test_a_run_of_other_settings_is_not_overwritten(source: Source, tmp_path: Path) -> None:
    train_run(source, tmp_path / "run", config("train.max_epochs=1"), seed=0, device=CPU)
    with pytest.raises(UserError, match=r"other settings \(train.max_epochs=1\).*--run NAME"):
        train_run(source, tmp_path / "run", config("train.max_epochs=2"), seed=0, device=CPU)


def test_a_missing_photo_is_named(source: Source, tmp_path: Path) -> None:
    shutil.rmtree(source.photos / "00")
    with pytest.raises(CouldNotError, match=r"photos are not in .*first 00.*--photos"):
        train_run(source, tmp_path / "run", config(), seed=0, device=CPU)


def test_an_empty_split_is_named(source: Source, tmp_path: Path) -> None:
    rows = source.paragraphs.to_pandas()
    kept = pa.Table.from_pandas(rows[rows["split"] != "val"], schema=PARAGRAPHS)
    empty = replace(source, paragraphs=kept)
    with pytest.raises(CouldNotError, match="no pairs in its val split"):
        train_run(empty, tmp_path / "run", config(), seed=0, device=CPU)


def test_a_damaged_checkpoint_is_named(source: Source, tmp_path: Path) -> None:
    train_run(source, tmp_path / "run", config("train.max_epochs=1"), seed=0, device=CPU)
    best = tmp_path / "run" / "checkpoints" / "best.safetensors"
    best.write_bytes(best.read_bytes()[:200])
    with pytest.raises(CouldNotError, match=r"best\.safetensors"):
        open_run(tmp_path / "run", CPU)


def test_grid_features_of_other_weights_are_never_mixed(source: Source, tmp_path: Path) -> None:
    train_run(source, tmp_path / "run", config("train.max_epochs=1"), seed=0, device=CPU)
    other = replace(source, encoder={"encoder": "another"})
    with pytest.raises(CouldNotError, match="made with another encoder"):
        train_run(other, tmp_path / "run2", config("train.max_epochs=1"), seed=0, device=CPU)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("train.lrr=1", "Did you mean 'train.lr'"),
        ("lr", "Write key=value"),
        ("train.lr=fast", "key `train.lr`"),
        ("model.heads=5", "must divide the width"),
        ("joint=i1,i1", "each at most once"),
        ("max_tokens=3", "data.max_tokens or decode.max_tokens"),
    ],
)
def test_a_wrong_setting_is_named(setting: str, expected: str) -> None:
    with pytest.raises(UserError) as error:
        build_config("small", "neural-naturalist", [setting])
    assert expected in str(error.value)


def test_an_unknown_model_or_row_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UserError, match="Did you mean 'neural-naturalist'"):
        build_config("small", "neural-naturalst")
    with pytest.raises(UserError, match="Rows: full"):
        build_config("small", "neural-naturalist/nothing")
