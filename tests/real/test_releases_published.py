"""Published datasets as releases: expected numbers, and back to the same files."""

from pathlib import Path

import pytest
from pairs_to_words.project.errors import UserError
from pairs_to_words.releases.formats.nlvr2 import read_nlvr2, write_nlvr2
from pairs_to_words.releases.formats.snli_ve import (
    image_of,
    image_splits,
    read_snli_ve,
    splits_of,
    write_snli_ve,
)
from pairs_to_words.releases.imports import import_release
from pairs_to_words.releases.leaks import find_leaks
from pairs_to_words.releases.read import Release

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not here")

DEV, TEST1 = DATA / "nlvr2" / "dev.json", DATA / "nlvr2" / "test1.json"
LISTS = DATA / "snli" / "flickr30k_test.lst", DATA / "snli" / "flickr30k_train_val.lst"


@pytest.fixture(scope="module")
def nlvr2(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("nlvr2") / "1.0.0"
    published = read_nlvr2([DEV, TEST1])
    return import_release(published, [DEV, TEST1], folder, "1.0.0", allow_leaks=True)


def test_nlvr2_has_the_expected_counts(nlvr2: Release) -> None:
    dev, test1 = (nlvr2.statistics["by_split"][split] for split in ("dev", "test1"))
    assert dev == {
        "rows": 6982,
        "unique_sentences": 2004,
        "image_sets": 1054,
        "image_pairs": 4051,
        "consistency_groups": 2018,
        "synsets": 124,
        "true": 3551,
    }
    assert (test1["rows"], test1["consistency_groups"]) == (6967, 1995)
    assert nlvr2.statistics["judgments"] == 34797 + 34709


def test_nlvr2_comes_back_byte_for_byte(nlvr2: Release, tmp_path: Path) -> None:
    written = write_nlvr2(nlvr2, tmp_path)
    assert [path.name for path in written] == ["dev.json", "test1.json"]
    assert written[0].read_bytes() == DEV.read_bytes()
    assert written[1].read_bytes() == TEST1.read_bytes()
    again = import_release(
        read_nlvr2(written), written, tmp_path / "again", "1.0.0", allow_leaks=True
    )
    assert again.manifest["logical_hash"] == nlvr2.manifest["logical_hash"]


def test_nlvr2_dev_and_test1_share_exactly_these_addresses(tmp_path: Path) -> None:
    published = read_nlvr2([DEV, TEST1])
    found = find_leaks(published.kind, published.rows)["blocking"]["photo"]
    urls = {
        path: {
            url
            for line in path.read_text(encoding="utf-8").split("\n")
            for url in line.split('"')
            if url.startswith("http")
        }
        for path in (DEV, TEST1)
    }
    assert set(found["values"]) == urls[DEV] & urls[TEST1]
    assert found["between"] == {"dev and test1": 45}
    with pytest.raises(UserError, match=r"45 in dev and test1.*--allow-leaks"):
        import_release(published, [DEV], tmp_path / "refused", "1.0.0")
    assert not list(tmp_path.iterdir())


def test_one_part_of_nlvr2_leaks_nothing(tmp_path: Path) -> None:
    release = import_release(read_nlvr2([DEV]), [DEV], tmp_path / "1.0.0", "1.0.0")
    assert release.splits == ("dev",)


@pytest.mark.parametrize(("split", "expected"), [("dev", 14_339), ("test", 14_740)])
def test_every_snli_ve_pair_lands_in_the_split_it_comes_from(split: str, expected: int) -> None:
    images = image_splits(*LISTS)
    ids = (DATA / "snli" / "snlive_ids" / f"esnlive_{split}_pairids.txt").read_text().split()
    assert len(ids) == expected
    assert {images[image_of(i)] for i in ids} == {split.replace("dev", "val")}


def test_snlis_own_split_would_be_wrong_for_most_rows() -> None:
    images = image_splits(*LISTS)
    lines = (DATA / "snli" / "uids" / "snli_dev_half_dev_uid_gold.tsv").read_text().split("\n")
    ids = [line.split("\t")[0] for line in lines[1:] if line]
    splits = [images.get(image_of(i)) for i in ids if "vg_" not in i]
    assert set(splits) - {None} == {"train", "val", "test"}
    assert sum(s != "val" for s in splits) / len(splits) == pytest.approx(0.93, abs=0.05)


def test_snli_joins_and_comes_back(tmp_path: Path) -> None:
    source = DATA / "snli" / "snli5" / "snli_1.0_dev_head.jsonl"
    published = read_snli_ve([source], image_splits(*LISTS))
    release = import_release(published, [source], tmp_path / "1.0.0", "1.0.0")
    funnel = release.statistics["funnel"]
    assert funnel["rows read"] > funnel["rows not without gold label"] > 1000
    assert set(release.all_rows()["label"].to_pylist()) == {
        "entailment",
        "neutral",
        "contradiction",
    }
    out = tmp_path / "out"
    out.mkdir()
    files = write_snli_ve(release, out)
    again = import_release(
        read_snli_ve(files, splits_of(files)), files, tmp_path / "again", "1.0.0"
    )
    assert again.all_rows().equals(release.all_rows())
    assert again.manifest["logical_hash"] == release.manifest["logical_hash"]
