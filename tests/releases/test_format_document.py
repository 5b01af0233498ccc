"""docs/release-format.md says what the code does: columns, leak rules and files."""

from pathlib import Path

import pyarrow as pa
import pytest
from pairs_to_words.releases.read import Release
from pairs_to_words.releases.rows import JUDGMENTS
from pairs_to_words.releases.schemas import KINDS

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "release-format.md").read_text()


def table(schema: pa.Schema) -> str:
    lines = ["| column | type | may be empty |", "|---|---|---|"]
    lines += [f"| `{f.name}` | {f.type} | {'yes' if f.nullable else 'no'} |" for f in schema]
    return "\n".join(lines) + "\n\n"


@pytest.mark.parametrize("name", KINDS)
def test_columns_and_leak_rules_of_each_kind_are_documented(name: str) -> None:
    kind = KINDS[name]
    place = DOCUMENT.index(f"### `{name}`")
    section = DOCUMENT[place : DOCUMENT.index("\n##", place + 4)]
    assert table(kind.schema) in section
    for rules in (kind.blocking, kind.informative):
        said = ", ".join(f"{n} ({', '.join(f'`{c}`' for c in c_)})" for n, c_ in rules.items())
        assert said in section


def test_columns_of_judgments_are_documented() -> None:
    assert table(JUDGMENTS) in DOCUMENT


def test_every_file_of_a_release_is_documented(release: Release) -> None:
    for path in release.path.iterdir():
        assert path.name in DOCUMENT, path.name
