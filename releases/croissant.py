"""croissant.json of a release (MLCommons Croissant 1.0), and a check stricter than the library's.

mlcroissant validates a file with a wrong hash, a column that is not there or a path that leaves
the folder; `check_croissant` does not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import hash_file, read_json
from pairs_to_words.releases.schemas import RowKind

CROISSANT = "croissant.json"
_DATA = re.compile(r"data/(?P<split>[A-Za-z0-9_]+)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.parquet")
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def croissant(
    manifest: Mapping[str, Any], kind: RowKind, files: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return croissant.json: one record set per data file, one field per column."""
    data = {name: match for name in files if (match := _DATA.fullmatch(name))}
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": re.sub(r"[^A-Za-z0-9_-]", "-", manifest["name"]),
        "description": f"{manifest['title']}. Numbers, licences and files: see README.md.",
        "version": manifest["version"],
        "license": manifest.get("license", "https://spdx.org/licenses/ (see attributions.csv)"),
        "url": manifest.get("url") or "README.md",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "contentSize": f"{files[name]['bytes']} B",
                "encodingFormat": "application/x-parquet",
                "sha256": files[name]["sha256"],
            }
            for name in data
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": _set_name(match),
                "name": _set_name(match),
                "key": {"@id": f"{_set_name(match)}/row_id"},
                "field": [_field(_set_name(match), name, column) for column in kind.schema],
            }
            for name, match in data.items()
        ],
    }


def check_croissant(folder: Path) -> list[str]:
    """Return what is wrong between croissant.json and the files beside it; empty when nothing is.

    Found: an absolute path, `..` or a link in contentUrl, a missing file, another hash or size, a
    data file that is not described, a column that is not there or of another type, and columns
    that are not described.
    """
    try:
        described = read_json(folder / CROISSANT)
        objects = {entry["@id"]: entry for entry in described["distribution"]}
        wrong = [problem for entry in objects.values() for problem in _file_problems(folder, entry)]
        wrong += _missing_files(folder, {entry["contentUrl"] for entry in objects.values()})
        if wrong:
            return wrong
        for record_set in described["recordSet"]:
            wrong += _column_problems(folder, record_set, objects)
    except (UserError, KeyError, TypeError, AttributeError, pa.ArrowInvalid) as error:
        return [f"{CROISSANT} cannot be read: {type(error).__name__}: {error}"]
    return wrong


def _file_problems(folder: Path, entry: Mapping[str, Any]) -> list[str]:
    url = entry["contentUrl"]
    path = PurePosixPath(url)
    if path.is_absolute() or ".." in path.parts or ":" in url or "\\" in url:
        return [f"{CROISSANT}: contentUrl {url!r} leaves the folder"]
    file = folder / url
    if not file.is_file() or file.is_symlink():
        return [f"{CROISSANT}: {url} is not there"]
    if hash_file(file) != entry["sha256"]:
        return [f"{CROISSANT}: {url} has another sha256"]
    if entry["contentSize"] != f"{file.stat().st_size} B":
        return [f"{CROISSANT}: {url} is not of size {entry['contentSize']}"]
    return []


def _missing_files(folder: Path, described: set[str]) -> list[str]:
    present = {p.relative_to(folder).as_posix() for p in (folder / "data").glob("*.parquet")}
    return [f"{CROISSANT}: {name} is not described" for name in sorted(present - described)]


def _column_problems(
    folder: Path, record_set: Mapping[str, Any], objects: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    wrong = []
    described: dict[str, set[str]] = {}
    for entry in record_set["field"]:
        file = objects[entry["source"]["fileObject"]["@id"]]["contentUrl"]
        column = entry["source"]["extract"]["column"]
        described.setdefault(file, set()).add(column)
        schema = pq.read_schema(folder / file)
        place = f"{CROISSANT}: {record_set['@id']}: column {column} of {file}"
        if column not in schema.names:
            wrong.append(f"{place} is not there")
        elif entry["dataType"] != _type(schema.field(column).type):
            wrong.append(f"{place} is {schema.field(column).type}, not {entry['dataType']}")
    for file, columns in described.items():
        missing = set(pq.read_schema(folder / file).names) - columns
        wrong += [f"{CROISSANT}: column {c} of {file} is not described" for c in sorted(missing)]
    return wrong


def _set_name(match: re.Match[str]) -> str:
    return match["split"] if match["parts"] == "00001" else f"{match['split']}-{match['part']}"


def _field(record_set: str, file: str, column: pa.Field) -> dict[str, Any]:
    found: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{record_set}/{column.name}",
        "name": column.name,
        "dataType": _type(column.type),
        "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
    }
    if pa.types.is_list(column.type):
        found["repeated"] = True
    return found


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return _type(kind.value_type)
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"
