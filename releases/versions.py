"""Versions of releases: which there are, and which one a change needs at least."""

from __future__ import annotations

import re
from pathlib import Path

from pairs_to_words.project.errors import UserError

_VERSION = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})")

Version = tuple[int, int, int]


def parse_version(text: str) -> Version:
    """Return (major, minor, patch).

    Raises:
        UserError: Not three numbers with dots.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        raise UserError(f"{text!r} is not a version.", "Use three numbers, such as 1.0.0.")
    return int(match[1]), int(match[2]), int(match[3])


def say_version(version: Version) -> str:
    """Write a version with dots."""
    return ".".join(map(str, version))


def released_versions(releases: Path) -> list[Version]:
    """Return the finished releases in a project's folder, lowest first."""
    found = [
        parse_version(path.parent.name)
        for path in releases.glob("[!.]*/MANIFEST.json")
        if _VERSION.fullmatch(path.parent.name)
    ]
    return sorted(found)


def previous_version(releases: Path, version: Version) -> Version | None:
    """Return the highest release below `version`, None when there is none."""
    return max((v for v in released_versions(releases) if v < version), default=None)


def least_version(before: Version, *, moved: int, changed: int) -> Version:
    """Return the least version for a change: rows that moved split, rows added or removed."""
    major, minor, patch = before
    if moved:
        return major + 1, 0, 0
    if changed:
        return major, minor + 1, 0
    return major, minor, patch + 1
