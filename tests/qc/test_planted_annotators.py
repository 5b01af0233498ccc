"""Over five seeds the audit flags each planted annotator of the simulation and no good one."""

import pandas as pd
import pytest
from pairs_to_words.annotation.simulated_answers import (
    World,
    load_world,
    parse_workers,
    simulate_judgments,
)
from pairs_to_words.collect.main import main
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import load_protocol
from pairs_to_words.project.records import Judgment
from pairs_to_words.project.seeds import keyed_rng
from pairs_to_words.qc.annotators import annotate_workers
from pairs_to_words.qc.audit import catalogue_names
from pairs_to_words.qc.guidelines import SpeciesNames

CROWD = "good=12,hasty=1,random=2,copy-paste=1,species-namer=1"
PROTOCOL = load_protocol("birds-to-words")
BAD = ("RANDOM", "COPYPASTE", "SPECIESNAMER")


@pytest.fixture(scope="module")
def domain(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, SpeciesNames]:
    root = tmp_path_factory.mktemp("planted") / "project"
    assert main(["init", str(root)]) == 0
    assert main(["catalog", "demo", "--species", "100", "--seed", "0", "--project", str(root)]) == 0
    names = catalogue_names(Layout(root))
    assert names is not None
    return load_world(Layout(root)), names


def frame(judgments: list[Judgment]) -> pd.DataFrame:
    return pd.DataFrame([vars(judgment) for judgment in judgments])


@pytest.mark.parametrize("seed", range(5))
def test_every_planted_annotator_is_flagged_and_no_good_one(
    seed: int, domain: tuple[World, SpeciesNames]
) -> None:
    world, names = domain
    workers = parse_workers(CROWD)
    rng = keyed_rng(seed, "pairs")
    photos = sorted(world.flaw)
    items = []
    for n in range(250):
        first, second = rng.choice(len(photos), size=2, replace=False)
        items.append({"item_id": f"p{n}", "photo_1": photos[first], "photo_2": photos[second]})
    clear = [i for i in items if not world.flaw[i["photo_1"]] and not world.flaw[i["photo_2"]]]
    clarity, writing = (
        frame(simulate_judgments(name, PROTOCOL.task(name), chosen, workers, world, seed))
        for name, chosen in (("clarity", items), ("writing", clear))
    )
    people = [
        *annotate_workers(clarity, "clarity", label_fields=["clear_1", "clear_2"]),
        *annotate_workers(writing, "writing", text_fields=["paragraph"], names=names, min_words=8),
    ]
    flagged = {p.worker_id for p in people if p.action in ("review", "exclude")}
    everybody = {p.worker_id for p in people}
    bad = {w for w in everybody if any(kind in w for kind in BAD)}
    good = {w for w in everybody if "GOOD" in w}
    assert len(bad) == 4
    assert bad <= flagged
    assert not good & flagged
