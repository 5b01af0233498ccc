"""`collect embed`: features of every photo, for visual neighbours."""

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
)


@click.command("embed")
@click.option(
    "--encoder",
    metavar="NAME",
    help="timm encoder.  [default: [embed] encoder of collect.toml]",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The encoder's weights (safetensors, or a state dict of torch).",
)
@click.option(
    "--precision",
    type=click.Choice(["auto", "float32", "bfloat16"]),
    default="auto",
    show_default=True,
    help="Arithmetic; auto is bfloat16 where the processor has it.",
)
@click.option(
    "--shard-size",
    default=4096,
    show_default=True,
    metavar="PHOTOS",
    type=click.IntRange(min=1),
    help="Photos per shard: what a killed run repeats at most.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="THREADS",
    help="Threads that decode and encode.  [default: one per processor]",
)
@project_option
@json_option
def command(
    project: OpenProject,
    encoder: str | None,
    checkpoint: Path | None,
    precision: str,
    shard_size: int,
    workers: int | None,
    as_json: bool,
) -> None:
    """Embed the catalogue's photos with a pretrained encoder; go on where a killed run stopped.

    Example: collect embed
    """
    import time
    from dataclasses import asdict

    from pairs_to_words.project.files import read_parquet
    from pairs_to_words.project.manifest import hash_inputs
    from pairs_to_words.sampling.shards import embed_photos

    layout, config = project.layout, project.config.embed
    name = encoder or config.encoder
    files = {
        "catalog": layout.catalog / "photos.parquet",
        "photos": layout.photos / "index.parquet",
    }
    photos = read_parquet(files["catalog"], ["photo_id"])
    index = read_parquet(files["photos"], ["photo_id", "sha256"])

    from pairs_to_words.sampling.embed import load_encoder, pooled_features

    model = load_encoder(name, checkpoint=checkpoint, precision=precision)
    started = time.monotonic()
    done = embed_photos(
        photos,
        index,
        layout.photos,
        layout.embeddings(name),
        model.identity,
        lambda paths, advance: pooled_features(
            model, paths, batch_size=config.batch_size, workers=workers, advance=advance
        ),
        dimensions=model.dimensions,
        inputs=hash_inputs(files),
        notes={"preprocessing": model.preprocessing},
        shard_rows=shard_size,
        progress=show_progress,
    )
    seconds = time.monotonic() - started
    if as_json:
        say_json(asdict(done) | {"encoder": name, "dimensions": model.dimensions})
        return
    if done.current:
        say(f"Embeddings of {done.photos:,} photos with {name} are current; nothing to do.")
    else:
        say(
            f"Embedded {done.photos:,} photos with {name} ({model.precision}, {model.device})"
            f" in {seconds:,.0f} s; {done.reused} of {done.shards} shards were there already."
        )
    if done.missing:
        note(f"{done.missing:,} photos of the catalogue have no file and were left out.")
    next_step("collect sample --pivots 405 --k 12")
