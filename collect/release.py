"""`collect release`: build and check versioned releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.output import json_option, next_step, say, say_json, table


@click.group("release")
def command() -> None:
    """Build and check versioned releases.

    Example: collect release build 1.0.0
    """


@command.command("build")
@click.argument("version")
@click.option("--sample", metavar="NAME", help="Sample that the pairs come from.  [default: main]")
@project_option
@json_option
def build(version: str, sample: str | None, project: OpenProject, as_json: bool) -> None:
    """Build a release from texts about pairs that passed; an existing one is never changed.

    Example: collect release build 1.0.0
    """
    from pairs_to_words.releases.build import build_release

    built = build_release(
        project.store, project.layout, project.config, project.protocol, version, sample=sample
    )
    release = built.release
    if as_json:
        say_json({"path": str(release.path), "new": built.new, "manifest": release.manifest})
        return
    if not built.new:
        say(f"Release {version} is there with the same content; nothing to do.")
    else:
        say(f"Built {release.path}.")
        _print(release.statistics)
    next_step(f"collect train --release {version}")


@command.command("verify")
@click.argument("release", metavar="VERSION|DIR")
@click.option("--project", type=click.Path(path_type=Path), help="Project of VERSION.")
@json_option
def verify(release: str, project: Path | None, as_json: bool) -> None:
    """Compare every file of a release with its checksum; exit with 3 when one differs.

    Example: collect release verify 1.0.0
    """
    from pairs_to_words.project.errors import CheckFailed
    from pairs_to_words.releases.checksums import check_files
    from pairs_to_words.releases.read import open_release

    path = _folder(release, project)
    if not path.is_dir():
        open_release(path)
    wrong = check_files(path)
    if as_json:
        say_json({"path": str(path), "ok": not wrong, "wrong": wrong})
    if wrong:
        raise CheckFailed(f"{path} is not as published: {'; '.join(wrong[:10])}.")
    if not as_json:
        say(f"{path}: every file is as published.")


@command.command("stats")
@click.argument("release", metavar="VERSION|DIR")
@click.option("--project", type=click.Path(path_type=Path), help="Project of VERSION.")
@json_option
def stats(release: str, project: Path | None, as_json: bool) -> None:
    """Print a release's measured statistics.

    Example: collect release stats 1.0.0
    """
    from pairs_to_words.releases.read import open_release

    found = open_release(_folder(release, project))
    if as_json:
        say_json(found.statistics)
    else:
        _print(found.statistics)


def _folder(release: str, project: Path | None) -> Path:
    """Return the folder of a version in the project, or the folder itself."""
    from pairs_to_words.project.layout import find_project

    if "/" in release or (Path(release) / "MANIFEST.json").is_file():
        return Path(release)
    return find_project(project or Path.cwd()).release(release)


def _print(statistics: dict[str, Any]) -> None:
    flat = [(name, value) for name, value in statistics.items() if not isinstance(value, dict)]
    say(table([(name.replace("_", " "), str(value)) for name, value in flat], ("measure", "value")))
    for name, values in statistics.items():
        if isinstance(values, dict):
            parts = ", ".join(f"{key} {_said(value)}" for key, value in values.items())
            say(f"{name.replace('_', ' ')}: {parts}")


def _said(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
