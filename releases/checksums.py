"""SHA256SUMS and MANIFEST.json: every file of a release is on both lists, and nothing else is."""

from __future__ import annotations

from pathlib import Path

from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import hash_file, read_json, write_text

SUMS = "SHA256SUMS"
MANIFEST = "MANIFEST.json"


def hash_files(directory: Path, only: str = "") -> dict[str, dict[str, int | str]]:
    """Return relative path -> sha256 and bytes of every file but the two lists, sorted.

    Args:
        only: Just this file.
    """
    return {
        name: {"sha256": hash_file(directory / name), "bytes": (directory / name).stat().st_size}
        for name in _files(directory)
        if name not in (SUMS, MANIFEST) and only in ("", name)
    }


def write_sums(directory: Path) -> None:
    """Write SHA256SUMS over every other file, as `sha256sum -c SHA256SUMS` reads it.

    Hashes are those of MANIFEST.json, which must be written: each file is read once.
    """
    files = read_json(directory / MANIFEST)["files"]
    hashes = {name: entry["sha256"] for name, entry in files.items()}
    hashes[MANIFEST] = hash_file(directory / MANIFEST)
    write_text(directory / SUMS, "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes)))


def check_files(directory: Path) -> list[str]:
    """Return what is wrong with the files of a release; empty when all is as published.

    Found: a changed, missing or added file, and lists that contradict each other.
    """
    try:
        listed = _read_sums(directory / SUMS)
        declared = read_json(directory / MANIFEST)["files"]
        hashes = {str(name): str(entry["sha256"]) for name, entry in declared.items()}
    except (UserError, KeyError, TypeError, AttributeError) as error:
        return [f"the lists of files cannot be read: {error}"]
    wrong = []
    present = set(_files(directory)) - {SUMS}
    for name in sorted(present | set(listed)):
        if name not in present:
            wrong.append(f"{name} is missing")
        elif name not in listed:
            wrong.append(f"{name} was added")
        elif hash_file(directory / name) != listed[name]:
            wrong.append(f"{name} was changed")
        elif name != MANIFEST and hashes.get(name) != listed[name]:
            wrong.append(f"{name}: {MANIFEST} and {SUMS} disagree")
    wrong += [f"{name} is missing" for name in sorted(set(hashes) - present - set(listed))]
    return wrong


def _files(directory: Path) -> list[str]:
    return sorted(p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file())


def _read_sums(path: Path) -> dict[str, str]:
    listed: dict[str, str] = {}
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}.") from error
    if not text.endswith("\n"):
        raise UserError(f"{path} ends in the middle of a line.")
    for number, line in enumerate(text[:-1].split("\n"), start=1):
        digest, gap, name = line[:64], line[64:66], line[66:]
        if gap != "  " or not name or ".." in Path(name).parts or name.startswith("/"):
            raise UserError(f"{path} line {number} is not `<sha256>  <file>`.")
        listed[name] = digest
    return listed
