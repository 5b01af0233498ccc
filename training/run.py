"""One training run from a release to a table of scores, in a folder that can be resumed.

models/<run>/config.json        every setting, the seed, the release and its hash
models/<run>/vocabulary.json    words by id
models/<run>/grid_scale.safetensors  principal components of the grid features, when kept
models/<run>/checkpoints/       last and best
models/<run>/log.jsonl          loss, learning rate, tokens per second, validations
models/<run>/outputs-<split>.jsonl   what each model wrote: {id, model, text, references}
models/<run>/samples.json       some test pairs with references and output, for looking at
models/<run>/metrics.json       the table; written last
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from pairs_to_words.project.errors import CouldNotError, UserError
from pairs_to_words.project.files import atomic_path, hash_value, read_json, write_json
from pairs_to_words.project.manifest import Manifest, is_current, write_manifest
from pairs_to_words.project.progress import Progress, no_progress
from pairs_to_words.project.seeds import keyed_hash, keyed_rng
from pairs_to_words.training.batches import PairGrids, examples_of, pair_grids
from pairs_to_words.training.checkpoint import load_checkpoint
from pairs_to_words.training.config import TrainConfig, config_from
from pairs_to_words.training.data import (
    TEST,
    TRAIN,
    VALIDATION,
    DescribedPair,
    pairs_of,
    photos_of,
    split_of,
)
from pairs_to_words.training.evaluate import (
    COLLAPSE_SHARE,
    SIGNATURE,
    changed_share,
    result_row,
    write_texts,
)
from pairs_to_words.training.features import (
    EncodeFiles,
    GridScale,
    GridStore,
    cache_grids,
    fit_grid_scale,
)
from pairs_to_words.training.loop import BEST, fit
from pairs_to_words.training.models.baselines import (
    MOST_FREQUENT,
    NEAREST,
    TEXT_ONLY,
    most_frequent,
    nearest_neighbour,
    text_only,
)
from pairs_to_words.training.models.caption import CaptionModel
from pairs_to_words.training.models.registry import build_model
from pairs_to_words.training.vocabulary import Vocabulary, build_vocabulary
from safetensors.torch import load_file, save_file

SAMPLES = 24  # test pairs in samples.json


@dataclass(frozen=True)
class Source:
    """Where a run's data come from.

    Attributes:
        release: Version, as named by the user.
        release_hash: Hash of the release's manifest.
        paragraphs: The released rows (schema PARAGRAPHS).
        photos: Folder with ab/cd/<sha256>.
        features: Cache folder of grid features, features/<encoder>.
        encoder: What decides the grid features, see `cache_grids`.
        encode: Computes the grids of files.
    """

    release: str
    release_hash: str
    paragraphs: pa.Table
    photos: Path
    features: Path
    encoder: dict[str, Any]
    encode: EncodeFiles


@dataclass(frozen=True)
class TrainedRun:
    """A run opened for use."""

    folder: Path
    config: TrainConfig
    seed: int
    model: CaptionModel
    vocabulary: Vocabulary
    scale: GridScale | None


def train_run(
    source: Source,
    folder: Path,
    config: TrainConfig,
    *,
    seed: int,
    device: torch.device,
    progress: Progress = no_progress,
    note: Callable[[str], object] = lambda _text: None,
) -> dict[str, Any]:
    """Train, score and save; return the content of metrics.json.

    A finished run with the same settings is left alone and its metrics returned; an interrupted
    one continues from its last checkpoint.

    Raises:
        UserError: The folder holds a run with other settings.
        CouldNotError: An empty split, a missing photo, a damaged checkpoint.
    """
    planned = Manifest(
        stage="train",
        inputs={"release": source.release_hash},
        config=config.to_dict(),
        seed=seed,
    )
    if is_current(folder, planned) and (folder / "metrics.json").exists():
        note(f"The run {folder.name} is finished already; nothing to do.")
        metrics: dict[str, Any] = read_json(folder / "metrics.json")
        return metrics
    _claim(folder, source, config, seed)
    torch.use_deterministic_algorithms(device.type == "cpu")
    pairs = pairs_of(source.paragraphs)
    splits = {name: split_of(pairs, name) for name in (TRAIN, VALIDATION, TEST)}
    if config.train.overfit:
        kept = splits[TRAIN][: config.train.overfit]
        splits = dict.fromkeys(splits, kept)
    store = cache_grids(
        source.features,
        source.photos,
        photos_of(pairs),
        description=source.encoder,
        encode=source.encode,
        progress=progress,
    )
    run = _prepare(folder, config, seed, splits[TRAIN], store, device)
    _fit(run, splits, store, device, progress, note)
    metrics = _measure(run, splits, store, device, progress)
    metrics |= {"release": source.release, "release_hash": source.release_hash, "seed": seed}
    _warn(metrics, note)
    outputs = {f"checkpoints/{BEST}": ""}
    counts = {f"{name} pairs": len(chosen) for name, chosen in splits.items()}
    write_manifest(folder, Manifest(**vars(planned) | {"outputs": outputs, "counts": counts}))
    write_json(folder / "metrics.json", metrics)
    return metrics


def open_run(folder: Path, device: torch.device) -> TrainedRun:
    """Open a trained run with its best weights.

    Raises:
        UserError: There is no such run.
        CouldNotError: It has no finished checkpoint, or the checkpoint is damaged.
    """
    if not (folder / "config.json").exists():
        known = sorted(path.parent.name for path in folder.parent.glob("*/config.json"))
        raise UserError(
            f"There is no run {folder.name!r}.",
            f"Runs: {', '.join(known)}." if known else "Train one with `collect train`.",
        )
    saved = read_json(folder / "config.json")
    config = config_from(saved["config"], str(folder / "config.json"))
    vocabulary = Vocabulary(tuple(read_json(folder / "vocabulary.json")))
    scale = _read_scale(folder)
    model = build_model(config.model, len(vocabulary), tuple(saved["grid"])).to(device)
    load_checkpoint(folder / "checkpoints" / BEST, model, vocabulary=vocabulary.key)
    return TrainedRun(folder, config, saved["seed"], model.eval(), vocabulary, scale)


def _claim(folder: Path, source: Source, config: TrainConfig, seed: int) -> None:
    """Make the folder this run's, or see that it is."""
    path = folder / "config.json"
    wanted = {
        "config": config.to_dict(),
        "release": source.release,
        "release_hash": source.release_hash,
        "encoder": source.encoder,
        "seed": seed,
    }
    if path.exists():
        present = read_json(path)
        differing = _differences(present, wanted)
        if differing:
            raise UserError(
                f"The run {folder.name!r} exists with other settings ({', '.join(differing)}).",
                "Name a new run with `--run NAME`, or delete the folder.",
            )
        return
    write_json(path, wanted)


def _differences(present: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    different = [key for key in wanted if key != "config" and present.get(key) != wanted[key]]
    for section, values in wanted["config"].items():
        before = present.get("config", {}).get(section, {})
        different += [
            f"{section}.{k}={before.get(k)}" for k, v in values.items() if before.get(k) != v
        ]
    return different


def _prepare(
    folder: Path,
    config: TrainConfig,
    seed: int,
    train: Sequence[DescribedPair],
    store: GridStore,
    device: torch.device,
) -> TrainedRun:
    """Build (or read back) vocabulary and grid scale, and a model with its first weights."""
    if not (folder / "vocabulary.json").exists():
        texts = (text for pair in train for text in pair.texts)
        vocabulary = build_vocabulary(texts, config.data.min_count)
        scale = fit_grid_scale(store.gather(photos_of(train)), config.model.grid_components)
        if scale is not None:
            with atomic_path(folder / "grid_scale.safetensors") as temporary:
                save_file({"mean": scale.mean, "basis": scale.basis.contiguous()}, temporary)
        write_json(folder / "vocabulary.json", list(vocabulary.words))
    vocabulary = Vocabulary(tuple(read_json(folder / "vocabulary.json")))
    scale = _read_scale(folder)
    cells, features = store.shape
    grid = (cells, features if scale is None else scale.basis.shape[1])
    saved = read_json(folder / "config.json")
    if "grid" not in saved:
        write_json(folder / "config.json", saved | {"grid": list(grid)})
    torch.manual_seed(keyed_hash(seed, "weights") >> 1)
    model = build_model(config.model, len(vocabulary), grid).to(device)
    return TrainedRun(folder, config, seed, model, vocabulary, scale)


def _read_scale(folder: Path) -> GridScale | None:
    path = folder / "grid_scale.safetensors"
    if not path.exists():
        return None
    tensors = load_file(path)
    return GridScale(tensors["mean"], tensors["basis"])


def _fit(
    run: TrainedRun,
    splits: dict[str, list[DescribedPair]],
    store: GridStore,
    device: torch.device,
    progress: Progress,
    note: Callable[[str], object],
) -> None:
    grids = pair_grids(splits[TRAIN], store, run.scale)
    examples = examples_of(splits[TRAIN], run.vocabulary, grids, run.config.data.max_tokens)
    validation = splits[VALIDATION]
    validation_grids = pair_grids(validation, store, run.scale)
    greedy = run.config.decode.model_copy(update={"method": "greedy"})

    def validate(model: CaptionModel) -> dict[str, float]:
        texts = write_texts(
            model, run.vocabulary, validation_grids, greedy, seed=run.seed, device=device
        )
        row = result_row("", texts, validation)
        return {k: v for k, v in row.items() if isinstance(v, float)}

    parameters = sum(p.numel() for p in run.model.parameters())
    note(
        f"{parameters:,} parameters, {len(run.vocabulary):,} words, "
        f"{len(examples.tokens):,} texts about {len(splits[TRAIN]):,} pairs."
    )
    fit(
        run.model,
        examples,
        run.config,
        folder=run.folder,
        seed=run.seed,
        vocabulary=run.vocabulary.key,
        validate=validate,
        device=device,
        progress=progress,
        resume=True,
    )


def _measure(
    run: TrainedRun,
    splits: dict[str, list[DescribedPair]],
    store: GridStore,
    device: torch.device,
    progress: Progress,
) -> dict[str, Any]:
    """Score the model beside the baselines on the validation and test pairs."""
    vectors = {
        photo: store.gather([photo])[0].astype(np.float32).mean(axis=0)
        for photo in photos_of([pair for chosen in splits.values() for pair in chosen])
    }
    rows: dict[str, list[dict[str, Any]]] = {}
    sensitivity = {}
    train = splits[TRAIN]
    for name in (VALIDATION, TEST):
        pairs = splits[name]
        grids = pair_grids(pairs, store, run.scale)
        settings = run.config.decode
        texts, swapped = (
            write_texts(
                run.model,
                run.vocabulary,
                grids,
                settings,
                seed=run.seed,
                device=device,
                swapped=other,
                progress=progress,
            )
            for other in (False, True)
        )
        sensitivity[name] = changed_share(texts, swapped)
        outputs = {
            run.config.model.name: texts,
            NEAREST: nearest_neighbour(train, pairs, vectors, seed=run.seed),
            TEXT_ONLY: text_only(train, pairs, seed=run.seed),
            MOST_FREQUENT: most_frequent(train, pairs),
        }
        rows[name] = [result_row(model, written, pairs) for model, written in outputs.items()]
        _write_outputs(run.folder / f"outputs-{name}.jsonl", outputs, pairs)
        if name == TEST:
            write_json(run.folder / "samples.json", _samples(texts, pairs, run.seed))
    return {
        "model": run.config.model.name,
        "splits": rows,
        "swap_sensitivity": sensitivity,
        "signature": SIGNATURE | {"decoding": run.config.decode.model_dump(mode="json")},
        "run_key": hash_value([run.config.to_dict(), run.seed]),
    }


def _write_outputs(
    path: Path, outputs: dict[str, list[str]], pairs: Sequence[DescribedPair]
) -> None:
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for model, texts in outputs.items():
            for pair, text in zip(pairs, texts, strict=True):
                line = {"id": pair.pair_id, "model": model, "level": pair.level, "text": text}
                json.dump(line | {"references": pair.texts}, file, ensure_ascii=False)
                file.write("\n")


def _samples(
    texts: Sequence[str], pairs: Sequence[DescribedPair], seed: int
) -> list[dict[str, Any]]:
    chosen = keyed_rng(seed, "samples").permutation(len(pairs))[:SAMPLES]
    return [
        {
            "pair_id": pairs[i].pair_id,
            "photo_1_sha256": pairs[i].photo_1,
            "photo_2_sha256": pairs[i].photo_2,
            "level": pairs[i].level,
            "references": list(pairs[i].texts),
            "output": texts[i],
        }
        for i in sorted(chosen.tolist())
    ]


def _warn(metrics: dict[str, Any], note: Callable[[str], object]) -> None:
    own = metrics["splits"][TEST][0]
    if own["commonest_share"] > COLLAPSE_SHARE:
        note(
            f"Collapse: {own['commonest_share']:.0%} of the test outputs are one and the same "
            "text. Train longer, or raise train.lr."
        )
    if metrics["swap_sensitivity"][TEST] == 0:
        note("The model cannot tell photo 1 from photo 2: no output changed when they swapped.")


def pick_device(name: str) -> torch.device:
    """Return the named device, or the best one for `auto`.

    Raises:
        CouldNotError: The device is not on this machine.
    """
    present = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(kind for kind, there in present.items() if there)
    if not present.get(name, False):
        there = ", ".join(kind for kind, there in present.items() if there)
        raise CouldNotError(f"There is no {name} device here.", f"Devices: {there}.")
    return torch.device(name)


def grids_for(pairs: Sequence[DescribedPair], store: GridStore, run: TrainedRun) -> PairGrids:
    """Return the grids of `pairs` as `run`'s model takes them."""
    return pair_grids(pairs, store, run.scale)
