"""Choose species from the real taxonomy (AviList 2025) so that relatives stay together."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd
import pyarrow as pa
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.records import TAXA
from pairs_to_words.project.seeds import keyed_hash

AVES = 1_000_000
"""Taxon id of the class; every other taxon's id is its row number in AviList, from 1."""

GENERA_PER_PASS = 2
SPECIES_PER_GENUS = 5


def avilist() -> pd.DataFrame:
    """Return AviList's species with `species_id`, names and the ids of their ancestors.

    AviList 2025 is packaged by the PyPI distribution `birdnames`.
    """
    path = files("birdnames") / "data" / "processed" / "avilist_2025_taxonomy.csv"
    with path.open(encoding="utf-8") as file:
        rows = pd.read_csv(file, dtype=str, keep_default_na=False)
    rows["taxon_id"] = range(1, len(rows) + 1)
    ids = {
        rank: rows[rows["avilist_taxon_rank"] == rank].set_index("scientific_name")["taxon_id"]
        for rank in ("order", "family", "genus")
    }
    species = rows[rows["avilist_taxon_rank"] == "species"]
    return pd.DataFrame(
        {
            "species_id": species["taxon_id"],
            "species": species["scientific_name"],
            "common_name": species["avilist_common_name"],
            "genus_id": species["genus"].map(ids["genus"]),
            "genus": species["genus"],
            "family_id": species["avilist_family"].map(ids["family"]),
            "family": species["avilist_family"],
            "order_id": species["avilist_order"].map(ids["order"]),
            "order": species["avilist_order"],
            "class_id": AVES,
            "class": "Aves",
        }
    ).reset_index(drop=True)


def choose_species(count: int, seed: int) -> pa.Table:
    """Return `count` species as a TAXA table, sorted by species id.

    Genera are taken two per family at a time, larger ones first, so that most species have
    congeners, relatives in other genera and other families, as a real regional fauna has. The first
    n of a larger choice are the choice of n: adding species changes nothing else.

    Raises:
        UserError: More species than AviList has, or fewer than one.
    """
    everything = avilist()
    if not 1 <= count <= len(everything):
        raise UserError(
            f"{count} species cannot be chosen.", f"AviList 2025 has {len(everything):,}."
        )
    chosen = everything.iloc[_preference(everything, seed)[:count]]
    chosen = chosen.sort_values("species_id", ignore_index=True)
    return pa.Table.from_pandas(chosen, schema=TAXA, preserve_index=False)


def _preference(taxa: pd.DataFrame, seed: int) -> list[int]:
    """Return all row numbers in the order in which species are taken."""
    draw = taxa["species"].map(lambda name: keyed_hash(seed, "species", name))
    genus_size = taxa.groupby("genus")["species"].transform("size").clip(upper=SPECIES_PER_GENUS)
    genus_draw = taxa["genus"].map(lambda name: keyed_hash(seed, "genus", name))
    family_draw = taxa["family"].map(lambda name: keyed_hash(seed, "family", name))
    within_genus = draw.groupby(taxa["genus"]).rank(method="first") - 1
    genus_key = pd.Series(
        list(zip(-genus_size, genus_draw, strict=True)), index=taxa.index, dtype=object
    )
    genera = pd.DataFrame({"family": taxa["family"], "genus": taxa["genus"], "key": genus_key})
    genera = genera.drop_duplicates("genus").sort_values("key", kind="stable")
    turn = genera.groupby("family").cumcount() // GENERA_PER_PASS
    turns = taxa["genus"].map(dict(zip(genera["genus"], turn, strict=True)))
    # A genus' sixth and further species come after every genus has had its first five.
    late = (within_genus // SPECIES_PER_GENUS).astype(int)
    order = pd.DataFrame(
        {"late": late, "turn": turns, "family": family_draw, "genus": genus_draw, "draw": draw}
    )
    return [int(i) for i in order.sort_values(list(order.columns), kind="stable").index]
