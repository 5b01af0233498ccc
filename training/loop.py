"""The training loop: plain torch, resumable at any step, stopped early on validation ROUGE-L.

Every random number of a step (order, dropout) is a function of seed, epoch and step, so a run that
was killed and resumed equals an uninterrupted one bit for bit on CPU.
"""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pairs_to_words.project.errors import CouldNotError
from pairs_to_words.project.files import atomic_path
from pairs_to_words.project.progress import Progress, no_progress
from pairs_to_words.project.seeds import keyed_hash
from pairs_to_words.training.batches import Batch, Examples, Indices, epoch_order, make_batch
from pairs_to_words.training.checkpoint import load_checkpoint, save_checkpoint
from pairs_to_words.training.config import TrainConfig, TrainSection
from pairs_to_words.training.models.caption import CaptionModel
from pairs_to_words.training.vocabulary import PAD
from torch import Tensor, nn
from torch.nn import functional

LAST, BEST = "last.safetensors", "best.safetensors"
LOG_EVERY = 10  # steps between lines of log.jsonl

Validate = Callable[[CaptionModel], dict[str, float]]
"""Scores the model on the validation split; `rouge_l` decides early stopping."""


@dataclass
class Standing:
    """Where a run stands; all of it is in the checkpoint."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best_rouge_l: float = -1.0
    best_epoch: int = -1
    validations_since_best: int = 0
    scaler: dict[str, Any] = field(default_factory=dict)


def fit(
    model: CaptionModel,
    examples: Examples,
    config: TrainConfig,
    *,
    folder: Path,
    seed: int,
    vocabulary: str,
    validate: Validate,
    device: torch.device,
    progress: Progress = no_progress,
    resume: bool = False,
) -> Standing:
    """Train `model` in place; it ends with the weights of the best validation.

    Args:
        model: On `device`.
        examples: Training texts with their grids.
        config: The run's settings.
        folder: models/<run>; gets checkpoints/ and log.jsonl.
        seed: Seed of order and dropout.
        vocabulary: Key of the vocabulary, kept in checkpoints.
        validate: Called every `validate_every` epochs.
        device: Where the model is.
        progress: Shows optimiser steps.
        resume: Continue from checkpoints/last.safetensors when it is there.

    Raises:
        CouldNotError: The loss is not a number, memory ran out, or a checkpoint is damaged.
        KeyboardInterrupt: Interrupted or terminated; a checkpoint was written first.
    """
    trainer = _Trainer(model, examples, config, folder, seed, vocabulary, device)
    if resume and trainer.last.exists():
        trainer.load()
    trainer.log_from_here()
    total = trainer.total_steps
    with progress("train", total=total, unit="steps") as advance, _stop_request() as stop:
        advance(trainer.standing.step)
        while not trainer.finished():
            trainer.run_epoch(advance, stop)
            if trainer.standing.epoch % config.train.validate_every == 0 or trainer.finished():
                trainer.validate(validate)
            trainer.save()
    if (folder / "checkpoints" / BEST).exists():
        load_checkpoint(folder / "checkpoints" / BEST, model, vocabulary=vocabulary)
    return trainer.standing


class _Trainer:
    """The objects that live as long as a run."""

    def __init__(
        self,
        model: CaptionModel,
        examples: Examples,
        config: TrainConfig,
        folder: Path,
        seed: int,
        vocabulary: str,
        device: torch.device,
    ) -> None:
        self.model = model
        self.examples = examples
        self.config = config.train
        self.folder = folder
        self.seed = seed
        self.vocabulary = vocabulary
        self.device = device
        self.standing = Standing()
        self.last = folder / "checkpoints" / LAST
        self.lengths = [len(ids) for ids in examples.tokens]
        self.optimiser = make_optimiser(model, self.config)
        self.scaler = torch.amp.GradScaler(
            device.type, enabled=self.config.precision == "fp16" and device.type == "cuda"
        )
        self.forward: Callable[..., Tensor] = _TextLogits(model)
        if self.config.compile:
            self.forward = torch.compile(self.forward)
        steps = len(epoch_order(examples, self.config, seed=seed, epoch=0))
        self.total_steps = steps * self.config.max_epochs
        if self.config.max_steps:
            self.total_steps = min(self.total_steps, self.config.max_steps)
        self.saved_at = time.monotonic()

    def finished(self) -> bool:
        """Tell whether epochs, steps or patience are used up."""
        standing, config = self.standing, self.config
        stale = config.patience and standing.validations_since_best >= config.patience
        spent = config.max_steps and standing.step >= config.max_steps
        return bool(stale or spent or standing.epoch >= config.max_epochs)

    def run_epoch(self, advance: Callable[[int], object], stop: threading.Event) -> None:
        """Run the rest of the present epoch."""
        standing = self.standing
        order = epoch_order(self.examples, self.config, seed=self.seed, epoch=standing.epoch)
        self.model.train()
        started, tokens = time.monotonic(), 0
        for chosen in order[standing.batch :]:
            loss, count = self.train_step(chosen)
            standing.step += 1
            standing.batch += 1
            tokens += count
            advance(1)
            if standing.step % LOG_EVERY == 0:
                seconds = max(time.monotonic() - started, 1e-9)
                self.log(
                    {
                        "loss": loss,
                        "lr": self._lr(standing.step),
                        "tokens_per_second": tokens / seconds,
                    }
                )
                started, tokens = time.monotonic(), 0
            if stop.is_set():
                self.save()
                raise KeyboardInterrupt
            if time.monotonic() - self.saved_at > 60 * self.config.checkpoint_minutes:
                self.save()
            if self.config.max_steps and standing.step >= self.config.max_steps:
                break
        standing.epoch += 1
        standing.batch = 0

    def train_step(self, chosen: Indices) -> tuple[float, int]:
        """Take one optimiser step; return the loss per token and the tokens seen."""
        torch.manual_seed(keyed_hash(self.seed, "step", self.standing.step) >> 1)
        for group in self.optimiser.param_groups:
            group["lr"] = self._lr(self.standing.step)
        self.optimiser.zero_grad(set_to_none=True)
        count = sum(self.lengths[index] for index in chosen)
        total = 0.0
        try:
            for part in np.array_split(chosen, min(self.config.accumulate, len(chosen))):
                loss = self._loss(make_batch(self.examples, part, self.device)) / count
                self.scaler.scale(loss).backward()
                total += float(loss.detach())
        except torch.cuda.OutOfMemoryError as error:
            raise CouldNotError(
                f"The GPU ran out of memory at a batch of {len(chosen)} texts.",
                f"Raise train.accumulate (now {self.config.accumulate}) or lower train.batch_size.",
            ) from error
        if not math.isfinite(total):
            raise CouldNotError(
                f"The loss became {total} at step {self.standing.step}.",
                f"Lower train.lr (now {self.config.lr}) or set train.precision=fp32.",
            )
        self.scaler.unscale_(self.optimiser)
        clip_gradients(self.model, self.config)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        return total, count

    def _loss(self, batch: Batch) -> Tensor:
        precision = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.config.precision)
        with torch.autocast(self.device.type, dtype=precision, enabled=precision is not None):
            logits = self.forward(batch.grids_1, batch.grids_2, batch.rows, batch.inputs)
        return functional.cross_entropy(
            logits.float().flatten(0, 1),
            batch.targets.flatten(),
            ignore_index=PAD,
            label_smoothing=self.config.label_smoothing,
            reduction="sum",
        )

    def validate(self, score: Validate) -> None:
        """Score the model; keep its weights when it is the best so far."""
        standing = self.standing
        self.model.eval()
        scores = score(self.model)
        better = scores["rouge_l"] > standing.best_rouge_l
        if better:
            standing.best_rouge_l, standing.best_epoch = scores["rouge_l"], standing.epoch
            standing.validations_since_best = 0
            facts = self.facts() | {"scores": scores}
            save_checkpoint(self.folder / "checkpoints" / BEST, self.model, facts)
        else:
            standing.validations_since_best += 1
        self.log({"validation": scores, "best": better})

    def _lr(self, step: int) -> float:
        return learning_rate(step, self.config, self.total_steps)

    def facts(self) -> dict[str, Any]:
        """Return what a checkpoint says beside its tensors."""
        self.standing.scaler = dict(self.scaler.state_dict())
        return {"vocabulary": self.vocabulary, "seed": self.seed, **vars(self.standing)}

    def save(self) -> None:
        """Write last.safetensors."""
        save_checkpoint(self.last, self.model, self.facts(), self.optimiser)
        self.saved_at = time.monotonic()

    def load(self) -> None:
        """Continue from last.safetensors."""
        facts = load_checkpoint(
            self.last, self.model, vocabulary=self.vocabulary, optimiser=self.optimiser
        )
        self.standing = Standing(**{key: facts[key] for key in vars(self.standing)})
        if self.standing.scaler:
            self.scaler.load_state_dict(self.standing.scaler)

    def log_from_here(self) -> None:
        """Drop log lines of steps that a killed process made after its last checkpoint."""
        path = self.folder / "log.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        kept = [line for line in lines if _log_step(line) <= self.standing.step]
        with atomic_path(path) as temporary:
            temporary.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")

    def log(self, values: dict[str, Any]) -> None:
        """Append one line to log.jsonl."""
        line = {"step": self.standing.step, "epoch": self.standing.epoch} | values
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


class _TextLogits(nn.Module):
    """Encodes each distinct pair once and decodes all of its texts."""

    def __init__(self, model: CaptionModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, grids_1: Tensor, grids_2: Tensor, rows: Tensor, inputs: Tensor) -> Tensor:
        memory = self.model.encode(grids_1, grids_2)
        return self.model.decode(memory, inputs, rows)


def make_optimiser(model: nn.Module, config: TrainSection) -> torch.optim.Optimizer:
    """Return the optimiser; weight decay touches matrices only, never biases and norms."""
    trained = [p for p in model.parameters() if p.requires_grad]
    if config.optimiser == "adagrad":
        return torch.optim.Adagrad(
            trained, lr=config.lr, initial_accumulator_value=config.initial_accumulator_value
        )
    decayed = config.weight_decay if config.optimiser == "adamw" else 0.0
    groups = [
        {"params": [p for p in trained if p.dim() > 1], "weight_decay": decayed},
        {"params": [p for p in trained if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.lr, betas=(0.9, 0.98))


def learning_rate(step: int, config: TrainSection, total_steps: int) -> float:
    """Return the rate of optimiser step `step` (from 0)."""
    if step < config.warmup_steps:
        return config.lr * (step + 1) / config.warmup_steps
    if config.schedule == "cosine":
        done = (step - config.warmup_steps) / max(1, total_steps - config.warmup_steps)
        return config.lr * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))
    if config.schedule == "inverse-sqrt":
        return config.lr * math.sqrt(max(1, config.warmup_steps) / max(1, step))
    if config.schedule == "staircase":
        return config.lr * config.decay ** (step // config.decay_every)
    if config.schedule == "once":
        return config.lr * (config.decay if step >= config.decay_every else 1.0)
    return config.lr


def clip_gradients(model: nn.Module, config: TrainSection) -> None:
    """Clip by the global norm, or each value."""
    if config.clip and config.clip_by == "norm":
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
    elif config.clip:
        nn.utils.clip_grad_value_(model.parameters(), config.clip)


def _log_step(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (json.JSONDecodeError, KeyError, TypeError, ValueError):
        return math.inf  # a line that was cut short


@contextmanager
def _stop_request() -> Iterator[threading.Event]:
    """Turn SIGTERM and Ctrl-C into a request that is answered after the present step."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: asked.set()) for number in numbers]
    try:
        yield asked
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
