"""`collect train`: train a reference model on a release."""

from __future__ import annotations

from pathlib import Path

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.output import (
    json_option,
    next_step,
    note,
    say,
    say_json,
    show_progress,
    table,
)


@click.command("train")
@click.option(
    "--release",
    required=True,
    metavar="VERSION|DIR",
    help="A release of the project by version, or the folder of any release.",
)
@click.option(
    "--model",
    default="neural-naturalist",
    show_default=True,
    metavar="NAME[/ROW...]",
    help="Model, with a row of the paper's tables: neural-naturalist/joint=i1,i2,mul.",
)
@click.option(
    "--preset",
    type=click.Choice(["small", "full", "paper"]),
    default="small",
    show_default=True,
    help="small: minutes on two CPU cores; full: one GPU; paper: the paper's schedule.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="SECTION.KEY=VALUE",
    help="Change one setting, such as train.lr=3e-4; may be repeated.",
)
@click.option("--run", "name", metavar="NAME", help="Run folder.  [default: MODEL-RELEASE]")
@click.option("--seed", type=click.IntRange(min=0), help="Seed.  [default: the project's]")
@click.option(
    "--photos",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with ab/cd/<sha256>.  [default: the project's photos]",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda", "mps"]),
    default="auto",
    show_default=True,
    help="Where to train.",
)
@project_option
@json_option
def command(
    project: OpenProject,
    release: str,
    model: str,
    preset: str,
    settings: tuple[str, ...],
    name: str | None,
    seed: int | None,
    photos: Path | None,
    device: str,
    as_json: bool,
) -> None:
    """Train a reference model on a release and score it beside the baselines.

    An interrupted run continues where it stopped; a finished one is left alone.

    Example: collect train --release 1.0.0
    """
    from pairs_to_words.training.config import build_config
    from pairs_to_words.training.run import pick_device, train_run
    from pairs_to_words.training.source import open_source

    config = build_config(preset, model, settings)
    folder = Path(release) if Path(release).is_dir() else project.layout.release(release)
    source = open_source(
        folder,
        photos or project.layout.photos,
        project.layout.features(config.data.encoder),
        config.data.encoder,
    )
    run = name or f"{config.model.name}-{source.release}"
    metrics = train_run(
        source,
        project.layout.model(run),
        config,
        seed=project.config.project.seed if seed is None else seed,
        device=pick_device(device),
        progress=show_progress,
        note=note,
    )
    if as_json:
        say_json(metrics)
        return
    for split, rows in metrics["splits"].items():
        say(f"{split}: {rows[0]['n_pairs']} pairs of held-out pivots")
        scores = [
            (row["model"], *(f"{row[key]:.4f}" for key in ("bleu_4", "rouge_l", "cider_d")))
            for row in rows
        ]
        say(table(scores, ("model", "BLEU-4", "ROUGE-L", "CIDEr-D")))
    say(f"Swap sensitivity (test): {metrics['swap_sensitivity']['test']:.0%} of outputs change.")
    next_step("collect report")
