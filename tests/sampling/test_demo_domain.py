"""The embedded domain: determined by its seed, true to its words, alike along the tree."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import hash_file
from pairs_to_words.project.layout import Layout, photo_file
from pairs_to_words.project.records import LEVELS, PHOTO_INDEX, PHOTOS, TAXA, TRUTH
from pairs_to_words.project.seeds import keyed_rng
from pairs_to_words.sampling.demo.build import build_demo
from pairs_to_words.sampling.demo.observations import ALLOWED, observe
from pairs_to_words.sampling.demo.scenes import FLAW_RATE, FLAWS, Shot, draw_flaw, photograph
from pairs_to_words.sampling.demo.species import avilist, choose_species
from pairs_to_words.sampling.demo.traits import (
    CATEGORIES,
    COLOURS,
    SHAPES,
    TRAIT_NAMES,
    Look,
    individual_look,
    species_look,
)
from pairs_to_words.sampling.perceptual_hash import perceptual_hash
from PIL import Image


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    """Forty species, drawn by two processes."""
    layout = Layout(tmp_path_factory.mktemp("domain"))
    assert build_demo(layout, species=40, seed=0, workers=2) is not None
    return layout


def fingerprint(layout: Layout) -> dict[str, str]:
    files = [p for p in layout.root.rglob("*") if p.is_file() and p.suffix != ".jpg"]
    return {str(p.relative_to(layout.root)): hash_file(p) for p in files}


def test_the_tables_have_the_shared_schemas(small: Layout) -> None:
    assert pq.read_schema(small.catalog / "photos.parquet").equals(PHOTOS)
    assert pq.read_schema(small.catalog / "taxa.parquet").equals(TAXA)
    assert pq.read_schema(small.photos / "index.parquet").equals(PHOTO_INDEX)
    truth = pq.read_schema(small.catalog / "truth.parquet")
    assert set(truth.names) == {*TRUTH.names, *TRAIT_NAMES}


def test_every_photo_is_a_readable_file_of_its_hash(small: Layout) -> None:
    index = pq.read_table(small.photos / "index.parquet").to_pylist()
    photos = pq.read_table(small.catalog / "photos.parquet")
    assert [row["photo_id"] for row in index] == photos["photo_id"].to_pylist()
    for row in index[:25]:
        file = photo_file(small.photos, row["sha256"])
        assert hash_file(file) == row["sha256"]
        with Image.open(file) as photo:
            photo.load()
            assert photo.size == (row["width"], row["height"])
            assert photo.mode == "RGB"


def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_workers(
    small: Layout, tmp_path: Path
) -> None:
    again = Layout(tmp_path)
    build_demo(again, species=40, seed=0, workers=1)
    assert fingerprint(again) == fingerprint(small)


def test_building_again_does_nothing(small: Layout) -> None:
    before = (small.catalog / "photos.parquet").stat().st_mtime_ns
    assert build_demo(small, species=40, seed=0) is None
    assert (small.catalog / "photos.parquet").stat().st_mtime_ns == before


def test_another_seed_gives_other_birds(small: Layout) -> None:
    taxon = choose_species(1, 0).to_pylist()[0]
    looks = {str(species_look(taxon, seed).words()) for seed in range(5)}
    assert len(looks) == 5


def workers_of(pid: int) -> list[str]:
    """Child processes, where the system lists them (Linux)."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return listed.read_text().split() if listed.exists() else []


def is_running(pid: str) -> bool:
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def test_a_killed_build_continues_and_draws_nothing_twice(tmp_path: Path) -> None:
    whole, killed = Layout(tmp_path / "whole"), Layout(tmp_path / "killed")
    build_demo(whole, species=70, seed=1, workers=1)
    script = f"""
from pathlib import Path
from pairs_to_words.project.layout import Layout
from pairs_to_words.sampling.demo.build import build_demo
if __name__ == "__main__":
    build_demo(Layout(Path({str(killed.root)!r})), species=70, seed=1, workers=1)
"""
    program = tmp_path / "build.py"
    program.write_text(script)
    process = subprocess.Popen([sys.executable, str(program)])
    deadline = time.monotonic() + 60
    while not list(killed.photos.glob("parts-*/*.parquet")) and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = workers_of(process.pid)
    process.kill()
    process.wait()
    (parts,) = killed.photos.glob("parts-*")
    finished = {p.name: p.stat().st_mtime_ns for p in parts.glob("[!.]*.parquet")}
    assert finished
    drawn = list(killed.photos.glob("??/??/[!.]*"))
    build_demo(killed, species=70, seed=1, workers=1)
    assert fingerprint(killed) == fingerprint(whole)
    assert all(p.exists() for p in drawn)
    assert not [worker for worker in workers if is_running(worker)]
    kept = pq.read_table(killed.photos / "index.parquet")["sha256"].to_pylist()
    assert len(list(killed.photos.glob("??/??/[!.]*"))) == len(set(kept))


def test_more_species_leave_the_first_ones_as_they_were() -> None:
    few = choose_species(100, 0).to_pandas()
    many = choose_species(400, 0).to_pandas()
    assert set(few["species"]) <= set(many["species"])
    rows_few, _ = observe(pa.Table.from_pandas(few, schema=TAXA), 0)
    rows_many, _ = observe(pa.Table.from_pandas(many, schema=TAXA), 0)
    ids = set(rows_few["photo_id"].to_pylist())
    same = [row for row in rows_many.to_pylist() if row["photo_id"] in ids]
    assert same == rows_few.to_pylist()


def test_two_thousand_species_hold_enough_pivots_for_the_paper() -> None:
    taxa = choose_species(2000, 0)
    photos, funnel = observe(taxa, 0)
    rows = photos.to_pandas().merge(taxa.to_pandas(), on="species_id")
    observations = rows.groupby("species_id")["observation_id"].nunique()
    per = taxa.to_pandas()
    per = per[per["species_id"].isin(observations.index)]
    sizes = [per.groupby(f"{rank}_id")["species_id"].transform("size") for rank in LEVELS[1:4]]
    genus, family, order = sizes
    wide = (genus >= 3) & (family - genus >= 2) & (order - family >= 2)
    enough = wide & (per["species_id"].map(observations) >= 4)
    assert enough.sum() >= 700
    assert observations.median() in (4, 5)
    assert observations.max() >= 25
    assert [row["step"] for row in funnel] == ["photos", "grade", "licence"]
    assert all(row["removed"] > 0 for row in funnel[1:])
    assert set(photos["license"].to_pylist()) == set(ALLOWED)


def test_a_choice_outside_the_taxonomy_is_refused() -> None:
    for count in (0, 20_000):
        with pytest.raises(UserError, match="AviList 2025 has 11,131"):
            choose_species(count, 0)


def test_the_taxonomy_is_the_real_one() -> None:
    taxa = avilist().set_index("species")
    robin = taxa.loc["Erithacus rubecula"]
    assert (robin["genus"], robin["family"]) == ("Erithacus", "Muscicapidae")
    assert robin["order"] == "Passeriformes"
    assert not taxa.isna().any().any()


def test_traits_agree_more_between_closer_relatives() -> None:
    taxa = choose_species(600, 0).to_pylist()
    words = {t["species_id"]: species_look(t, 0).words() for t in taxa}
    rng = np.random.default_rng(0)
    shares: dict[str, list[float]] = {"genus": [], "family": [], "order": [], "class": []}
    for _ in range(20_000):
        a, b = (taxa[int(i)] for i in rng.integers(len(taxa), size=2))
        if a is b:
            continue
        level = next(r for r in ("genus", "family", "order", "class") if a[r] == b[r])
        left, right = words[a["species_id"]], words[b["species_id"]]
        shares[level].append(np.mean([left[t] == right[t] for t in left]))
    means = [float(np.mean(shares[level])) for level in ("genus", "family", "order", "class")]
    assert means == sorted(means, reverse=True)
    assert means[0] > means[-1] + 0.2


def test_flaws_come_at_the_stated_rate() -> None:
    draws = [draw_flaw(keyed_rng(0, "t", n)) for n in range(20_000)]
    flawed = sum(map(bool, draws)) / len(draws)
    # Four standard errors of a proportion at this size.
    assert abs(flawed - FLAW_RATE) < 4 * (FLAW_RATE * (1 - FLAW_RATE) / len(draws)) ** 0.5
    assert set(draws) == {"", *FLAWS}


def plain_look(**changes: object) -> Look:
    """A grey bird with a black crown: what a test changes is what differs."""
    shape = dict.fromkeys(SHAPES, 0.5)
    colour = {name.split(".")[0]: "light grey" for name in TRAIT_NAMES if ".colour" in name}
    colour["crown"] = "black"
    category = {trait: values[0] for trait, (values, _weights) in CATEGORIES.items()}
    look = Look(shape, colour, category, "branch")
    for key, value in changes.items():
        part, aspect = key.split("__")
        if aspect == "colour":
            look.colour[part] = str(value)
        elif f"{part}.{aspect}" in SHAPES:
            assert isinstance(value, float)
            look.shape[f"{part}.{aspect}"] = value
        else:
            look.category[f"{part}.{aspect}"] = str(value)
    return look


def shot_of(look: Look, flaw: str = "") -> np.ndarray:
    return np.asarray(photograph(Shot(look, flaw), keyed_rng(0, "fixed")), dtype=float)


@pytest.mark.parametrize(
    "change",
    [
        {f"{part}__colour": "red"}
        for part in ("crown", "back", "wing", "breast", "belly", "tail", "bill", "leg")
    ]
    + [{trait.replace(".", "__"): CATEGORIES[trait][0][1]} for trait in CATEGORIES]
    + [{trait.replace(".", "__"): 0.95} for trait in SHAPES],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_trait_can_be_seen(change: dict[str, object]) -> None:
    base, changed = shot_of(plain_look()), shot_of(plain_look(**change))
    visible = (np.abs(base - changed).max(axis=2) > 40).mean()
    assert visible > 0.0015, f"{change} changes {visible:.4%} of the pixels"


def test_a_red_part_is_red_in_the_picture() -> None:
    red = shot_of(plain_look(breast__colour="red"))
    reddish = (red[..., 0] > 120) & (red[..., 1] < 90) & (red[..., 2] < 90)
    assert 0.01 < reddish.mean() < 0.3


def test_a_blurred_photo_has_less_detail_and_an_empty_one_no_bird() -> None:
    look = plain_look(breast__colour="red", belly__colour="red", back__colour="red")
    sharp, blurred, empty = (shot_of(look, flaw) for flaw in ("", "blurred", "no_animal"))
    detail = [np.abs(np.diff(p.mean(axis=2), axis=1)).mean() for p in (sharp, blurred)]
    assert detail[1] < 0.5 * detail[0]
    assert ((empty[..., 0] > 120) & (empty[..., 1] < 90)).mean() < 0.002


def test_birds_of_a_species_share_colours_and_differ_in_pose() -> None:
    typical = species_look(choose_species(1, 0).to_pylist()[0], 0)
    birds = [individual_look(typical, keyed_rng(0, n)) for n in range(20)]
    assert {str(sorted(b.colour.items())) for b in birds} == {str(sorted(typical.colour.items()))}
    assert len({b.shape["body.size"] for b in birds}) == 20
    assert set(COLOURS) >= set(typical.colour.values())


def test_the_perceptual_hash_sees_through_scaling_and_recompression() -> None:
    photos = [
        photograph(Shot(species_look(t, 0), ""), keyed_rng(0, t["species"]))
        for t in choose_species(12, 0).to_pylist()
    ]
    hashes = [perceptual_hash(photo) for photo in photos]
    for photo, original in zip(photos, hashes, strict=True):
        buffer = io.BytesIO()
        photo.resize((160, 160)).save(buffer, "JPEG", quality=60)
        with Image.open(buffer) as copy:
            assert (perceptual_hash(copy) ^ original).bit_count() <= 4
    pairs = [(a ^ b).bit_count() for i, a in enumerate(hashes) for b in hashes[:i]]
    assert np.median(pairs) > 12
