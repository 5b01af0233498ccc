"""`collect release`: build, check, compare, correct and publish versioned releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.output import json_option, next_step, note, say, say_json, table

_PROJECT = click.option(
    "--project", type=click.Path(path_type=Path), help="Project of a VERSION.  [default: here]"
)
_NEW = click.Path(path_type=Path)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group("release")
def command() -> None:
    """Build, check, compare, correct and publish versioned releases.

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
@_PROJECT
@json_option
def verify(release: str, project: Path | None, as_json: bool) -> None:
    """Check files, columns, rows, splits and leaks of a release; exit with 3 when one is wrong.

    Example: collect release verify 1.0.0
    """
    from pairs_to_words.project.errors import CheckFailed
    from pairs_to_words.releases.read import open_release
    from pairs_to_words.releases.verify import verify_release

    path = _folder(release, project)
    if not path.is_dir():
        open_release(path)
    wrong = verify_release(path)
    if as_json:
        say_json({"path": str(path), "ok": not wrong, "wrong": wrong})
    if wrong:
        raise CheckFailed(f"{path} is not as published: {'; '.join(wrong[:10])}.")
    if not as_json:
        say(f"{path}: every file is as published.")


@command.command("stats")
@click.argument("release", metavar="VERSION|DIR")
@_PROJECT
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


@command.command("diff")
@click.argument("before", metavar="VERSION|DIR")
@click.argument("after", metavar="VERSION|DIR")
@_PROJECT
@json_option
def diff(before: str, after: str, project: Path | None, as_json: bool) -> None:
    """Say which rows and columns two releases differ in, and the least version that needs.

    Example: collect release diff 1.0.0 1.1.0
    """
    from pairs_to_words.releases.diff import diff_releases
    from pairs_to_words.releases.read import open_release

    first, second = (open_release(_folder(name, project)) for name in (before, after))
    found, least = diff_releases(first, second)
    if as_json:
        say_json(vars(found) | {"least_version": least})
        return
    say(table([(n, f"{c:,}") for n, c in found.counts().items()], ("rows", "count")))
    for what in (*found.columns, *found.meaning):
        say(what)
    say(f"After {first.version} this needs at least {least}.")


@command.command("remove")
@click.option("--photo", "photos", type=int, multiple=True, metavar="ID", help="Photo id.")
@click.option("--observer", "observers", multiple=True, metavar="NAME", help="Name or id.")
@click.option("--worker", "workers", multiple=True, metavar="ID", help="Worker id or pseudonym.")
@click.option("--sample", metavar="NAME", help="Sample that the pairs come from.  [default: main]")
@click.option("--dry-run", is_flag=True, help="Say which releases are affected; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask: removal is for good.")
@project_option
@json_option
def remove(
    photos: tuple[int, ...],
    observers: tuple[str, ...],
    workers: tuple[str, ...],
    sample: str | None,
    dry_run: bool,
    yes: bool,
    project: OpenProject,
    as_json: bool,
) -> None:
    """Remove a photo, an observer or a writer for good and build the next release without.

    Example: collect release remove --photo 647514 --yes
    """
    from pairs_to_words.project.clock import system_clock
    from pairs_to_words.releases import removal

    planned = removal.plan_removal(
        project.layout,
        photos=photos,
        observers=observers,
        workers=workers,
        today=system_clock().date(),
    )
    for version, rows in planned.affected.items():
        note(f"Release {version} holds {rows:,} rows of it.")
    if not dry_run and not yes:
        click.confirm("Remove for good?", abort=True, err=True)
    built = None
    if not dry_run:
        built = removal.remove(
            project.store,
            project.layout,
            project.config,
            project.protocol,
            planned,
            sample=sample,
        )
    if as_json:
        new = None if built is None else built.version
        say_json({"affected": planned.affected, "version": new, "dry_run": dry_run})
    elif dry_run:
        say(f"{len(planned.affected)} releases are affected; nothing was changed.")
    elif built is None:
        say("Removed; the newest release holds none of it.")
    else:
        say(f"Removed; built {built.path} without it. Withdraw the affected releases.")


@command.command("import")
@click.argument("format_name", metavar="FORMAT")
@click.argument("files", nargs=-1, required=True, type=_FILE)
@click.option("--to", "target", required=True, type=_NEW, help="New folder for the release.")
@click.option("--version", default="1.0.0", show_default=True, metavar="X.Y.Z", help="Version.")
@click.option("--test-images", type=_FILE, help="snli-ve: flickr30k_test.lst.")
@click.option("--other-images", type=_FILE, help="snli-ve: flickr30k_train_val.lst.")
@click.option("--allow-leaks", is_flag=True, help="Take splits as published though they share.")
@json_option
def import_(
    format_name: str,
    files: tuple[Path, ...],
    target: Path,
    version: str,
    test_images: Path | None,
    other_images: Path | None,
    allow_leaks: bool,
    as_json: bool,
) -> None:
    """Write published files (FORMAT: b2w-tsv, nlvr2-json or snli-ve-jsonl) as a release.

    Example: collect release import nlvr2-json dev.json --to nlvr2-release
    """
    from pairs_to_words.releases.formats.published import read_published
    from pairs_to_words.releases.imports import import_release

    lists = (test_images, other_images) if test_images and other_images else None
    published = read_published(format_name, files, lists)
    release = import_release(published, files, target, version, allow_leaks=allow_leaks)
    if as_json:
        say_json({"path": str(release.path), "statistics": release.statistics})
        return
    say(f"Wrote {release.path}.")
    _print(release.statistics)
    next_step(f"collect release verify {release.path}/")


@command.command("export")
@click.argument("release", metavar="VERSION|DIR")
@click.option(
    "--format",
    "format_name",
    required=True,
    metavar="FORMAT",
    help="b2w-tsv, nlvr2-json, snli-ve-jsonl, hf, croissant or webdataset.",
)
@click.option("--to", "target", required=True, type=_NEW, help="New folder for the files.")
@click.option("--photos", is_flag=True, help="webdataset: copy photos whose licence allows it.")
@_PROJECT
@json_option
def export(
    release: str,
    format_name: str,
    target: Path,
    photos: bool,
    project: Path | None,
    as_json: bool,
) -> None:
    """Write a release in another format.

    Example: collect release export 1.0.0 --format webdataset --to shards
    """
    from pairs_to_words.project.layout import find_project
    from pairs_to_words.releases.exports import export_release
    from pairs_to_words.releases.read import open_release

    pictures = find_project(project or Path.cwd()).photos if photos else None
    found = open_release(_folder(release, project))
    written = export_release(found, format_name, target, photos=pictures)
    if as_json:
        say_json({"path": str(target), "files": [str(p.relative_to(target)) for p in written]})
    else:
        say(f"Wrote {len(written):,} files to {target}.")


@command.command("push")
@click.argument("release", metavar="VERSION|DIR")
@click.argument("address", metavar="s3://BUCKET/PREFIX")
@click.option("--endpoint", metavar="URL", help="S3-compatible endpoint.  [default: AWS]")
@click.option("--dry-run", is_flag=True, help="Say what would be sent; send nothing.")
@_PROJECT
@json_option
def push(
    release: str,
    address: str,
    endpoint: str | None,
    dry_run: bool,
    project: Path | None,
    as_json: bool,
) -> None:
    """Send a release to S3-compatible storage and verify it there; run again to continue.

    Example: collect release push 1.0.0 s3://my-datasets/birds/1.0.0
    """
    from pairs_to_words.collect.output import show_progress
    from pairs_to_words.releases.push import connect_s3, push_release
    from pairs_to_words.releases.read import open_release

    found = open_release(_folder(release, project))
    with show_progress("push", total=None, unit="files") as advance:
        pushed = push_release(connect_s3(endpoint), found, address, dry_run=dry_run, done=advance)
    if as_json:
        say_json(vars(pushed) | {"dry_run": dry_run})
    else:
        verb = "would be sent" if dry_run else "sent and verified"
        say(f"{len(pushed.sent):,} files {verb}, {len(pushed.there):,} were there: {address}")


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
        if isinstance(values, dict) and not name.endswith("_histogram"):
            parts = ", ".join(f"{key} {_said(value)}" for key, value in values.items())
            say(f"{name.replace('_', ' ')}: {parts}")


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return f"({', '.join(f'{key} {_said(part)}' for key, part in value.items())})"
    return f"{value:,}" if isinstance(value, int) else str(value)
