"""`collect review`: choose pivots by eye, or read annotators' texts, in the browser."""

from __future__ import annotations

from pathlib import Path

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.output import json_option, next_step, note, say, say_json, table


@click.group("review", invoke_without_command=True)
@click.option("--pivots", type=click.IntRange(min=1), metavar="N", help="Pivots to review.")
@click.option(
    "--plan",
    metavar="LEVEL=N,...",
    help="Branches per level of the sample to come.  [default: [sample] plan of collect.toml]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Seed of the sample to come.  [default: [project] seed of collect.toml]",
)
@click.option("--reviewer", metavar="NAME", help="Who reviews.  [default: your login name]")
@click.option(
    "--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="0: any free one."
)
@click.option("--status", is_flag=True, help="Only tell how far the review is; open no page.")
@click.option(
    "--project",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="COLLECT_PROJECT",
    help="Project directory.  [default: the nearest one upwards with collect.toml]",
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    pivots: int | None,
    plan: str | None,
    seed: int | None,
    reviewer: str | None,
    port: int,
    status: bool,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Show four photos of each pivot species on a local page and keep the clearest.

    Keys 1 to 4 choose, 0 passes the species over, U takes back. `collect review annotators` reads
    annotators' texts instead.

    Example: collect review --pivots 405
    """
    if context.invoked_subcommand is not None:
        return
    from pairs_to_words.collect.review_pivots import review_pivots
    from pairs_to_words.project.errors import UserError
    from pairs_to_words.project.layout import find_project

    if pivots is None:
        raise UserError("How many pivots?", "Type such as `collect review --pivots 405`.")
    review_pivots(
        OpenProject(find_project(directory or Path.cwd())),
        pivots,
        plan=plan,
        seed=seed,
        reviewer=reviewer,
        port=port,
        status=status,
        as_json=as_json,
    )


@command.command("annotators")
@click.option(
    "--round", "name", default="pilot", show_default=True, metavar="NAME", help="Review round."
)
@click.option("--workers", type=click.IntRange(min=1), help="Annotators to draw.  [default: all]")
@click.option(
    "--texts", default=5, show_default=True, type=click.IntRange(min=1), help="Texts of each."
)
@click.option("--task", metavar="TASK", help="Task with the texts.  [default: the release's]")
@click.option(
    "--reviewer", default="reviewer", show_default=True, metavar="NAME", help="Who decides."
)
@click.option(
    "--port", default=0, show_default=True, type=click.IntRange(0, 65535), help="0: any free one."
)
@click.option("--summary", is_flag=True, help="Print the decisions so far; open no page.")
@project_option
@json_option
def annotators(
    name: str,
    workers: int | None,
    texts: int,
    task: str | None,
    reviewer: str,
    port: int,
    summary: bool,
    project: OpenProject,
    as_json: bool,
) -> None:
    """Read some texts of each annotator and accept them, ask for work, or reject them.

    A second reviewer (another --reviewer) reads the same texts without seeing the first one's
    decisions. Decisions never touch pay by themselves.

    Example: collect review annotators --round pilot --texts 5
    """
    from pairs_to_words.project.errors import UserError
    from pairs_to_words.qc.review_round import draw_round, summarise_round

    rule = project.protocol.release
    chosen = task or (rule.text_task if rule else None)
    if chosen is None:
        raise UserError(f"The protocol {project.protocol.name} has no texts.", "Name a --task.")
    declared = project.protocol.task(chosen)
    field = next((f.name for f in declared.fields if f.kind == "text"), None)
    if field is None:
        raise UserError(f"The task {chosen} has no text to review.", "Name another --task.")
    round_ = draw_round(
        project.store,
        project.layout,
        name,
        task=chosen,
        field=field,
        workers=workers,
        texts=texts,
        seed=project.config.project.seed,
    )
    if not (summary or as_json):
        _serve(project, round_, reviewer, port)
    rows = summarise_round(project.store, round_)
    if as_json:
        say_json({"round": name, "task": chosen, "annotators": rows})
        return
    header = tuple(rows[0])
    say(table([tuple(row.values()) for row in rows], header))
    next_step(f"collect bonus --round {name}")


def _serve(project: OpenProject, round_: object, reviewer: str, port: int) -> None:
    import secrets
    import socket
    from typing import cast

    import uvicorn
    from pairs_to_words.project.clock import system_clock
    from pairs_to_words.qc.audit import catalogue_names
    from pairs_to_words.qc.review_round import Round
    from pairs_to_words.qc.review_site import review_app

    token = secrets.token_urlsafe(16)
    app = review_app(
        project.store,
        project.layout,
        cast(Round, round_),
        reviewer,
        token,
        system_clock,
        catalogue_names(project.layout),
    )
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"
        say(f"Review at {url}")
        note("Stop with Ctrl-C; decisions are saved as you make them.")
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listener])
