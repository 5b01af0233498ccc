"""The leak report finds what splits share, exactly, and refuses; near-duplicates are images too."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import read_json
from pairs_to_words.releases.leaks import (
    NEAR,
    find_leaks,
    near_duplicates,
    normalised,
    refuse_leaks,
    refuse_secrets_in_files,
)
from pairs_to_words.releases.read import Release


@given(st.lists(st.integers(0, 2**64 - 1), max_size=12), st.data())
def test_near_duplicates_are_exactly_the_hashes_four_bits_apart(
    hashes: list[int], data: st.DataObject
) -> None:
    for value in list(hashes):
        for bit in data.draw(st.lists(st.integers(0, 63), max_size=6, unique=True)):
            value ^= 1 << bit
        hashes.append(value)
    expected = [
        (i, j)
        for i in range(len(hashes))
        for j in range(i + 1, len(hashes))
        if (hashes[i] ^ hashes[j]).bit_count() <= NEAR
    ]
    assert near_duplicates(np.array(hashes, np.uint64)) == expected


def test_case_punctuation_and_spacing_do_not_make_another_text() -> None:
    import pyarrow as pa

    texts = ["Animal 1 is  larger.", "animal 1, is larger", "Animal 1 is smaller."]
    first, second, third = normalised(pa.array(texts)).to_pylist()
    assert first == second != third


def test_a_released_row_moved_to_another_split_is_found(release: Release) -> None:
    rows = release.all_rows()
    attributions = release.attributions()
    clean = find_leaks(release.kind, rows, attributions)
    refuse_leaks(clean)
    assert {report["shared"] for report in clean["blocking"].values()} == {0}
    moved = rows.to_pylist()
    other = next(s for s in release.splits if s != moved[0]["split"])
    pivot, branch = moved[0]["photo_1_id"], moved[0]["photo_2_id"]
    moved[0]["split"] = other
    found = find_leaks(release.kind, type(rows).from_pylist(moved, rows.schema), attributions)
    assert set(found["blocking"]["photo"]["values"]) == {str(pivot), str(branch)}
    assert found["blocking"]["text"]["shared"] == 0
    with pytest.raises(UserError, match=r"2 of kind photo.*--allow-leaks"):
        refuse_leaks(found)


def test_near_duplicate_images_in_two_splits_are_found(release: Release) -> None:
    rows = release.all_rows()
    by_split: dict[str, str] = {}
    for row in rows.to_pylist():
        by_split.setdefault(row["split"], str(row["photo_1_id"]))
    first, second = by_split["train"], by_split["test"]
    attributions = release.attributions()
    one, two = (next(a for a in attributions if a["photo_id"] == i) for i in (first, second))
    two["phash"] = f"{int(one['phash'], 16) ^ 0b1011:016x}"
    found = find_leaks(release.kind, rows, attributions)["blocking"]["near-duplicate image"]
    assert found["values"] == [" and ".join(sorted((first, second)))]
    two["phash"] = f"{int(one['phash'], 16) ^ 0b11111:016x}"
    found = find_leaks(release.kind, rows, attributions)["blocking"]["near-duplicate image"]
    assert found["shared"] == 0


def test_the_report_in_a_release_lists_every_kind(release: Release) -> None:
    report = read_json(release.path / "leaks.json")
    assert set(report["blocking"]) == {*release.kind.blocking, "near-duplicate image"}
    assert set(report["informative"]) == set(release.kind.informative)


@pytest.mark.parametrize("place", ["README.md", "AWORKER12345.txt", "metadata"])
def test_a_worker_id_in_a_file_a_name_or_parquet_metadata_is_found(
    release: Release, place: str
) -> None:
    import pyarrow.parquet as pq

    refuse_secrets_in_files(release.path, ["AWORKER12345"], "f" * 64)
    if place == "metadata":
        table = pq.read_table(release.path / "judgments.parquet")
        marked = table.replace_schema_metadata({"by": "AWORKER12345"})
        pq.write_table(marked, release.path / "judgments.parquet")
    else:
        (release.path / place).write_text("thanks to AWORKER12345")
    with pytest.raises(UserError, match="would hold a worker id"):
        refuse_secrets_in_files(release.path, ["AWORKER12345"], "f" * 64)
