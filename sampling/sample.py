"""Choose pivots and their branches: the image pairs that people will be asked about.

`sample_pairs` is the whole sampler on tables and arrays; `collect.sample` wraps it for a project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pairs_to_words.project.errors import CouldNotError
from pairs_to_words.project.progress import Progress, no_progress
from pairs_to_words.project.records import PAIRS, VISUAL
from pairs_to_words.sampling.branches import SPECIES_ROTATION, propose
from pairs_to_words.sampling.domain import Domain
from pairs_to_words.sampling.embeddings import Embeddings, read_rows, squared_distances
from pairs_to_words.sampling.fill import NEXT_LEVEL, Row, Rules
from pairs_to_words.sampling.funnel import Funnel
from pairs_to_words.sampling.neighbours import BLOCK_ROWS, nearest
from pairs_to_words.sampling.pivots import (
    eligible_species,
    lacking_levels,
    pivot_candidates,
    pivot_order,
)
from pairs_to_words.sampling.plan import Plan
from pairs_to_words.sampling.used import Used

Ints = NDArray[np.int64]

SEARCH_DEPTH = 64
"""Nearest photos asked for per pivot at first; rules may refuse many of them."""

SMALL = 200_000
"""Below so many photos every candidate photo of a pivot is searched at once."""

DRAWS = pa.schema(
    [
        pa.field("pair_id", pa.string(), nullable=False),
        pa.field("pivot_observation_id", pa.int64(), nullable=False),
        pa.field("branch_observation_id", pa.int64(), nullable=False),
        pa.field("same_observer", pa.bool_(), nullable=False),
        pa.field("same_observation", pa.bool_(), nullable=False),
    ]
)
"""samples/<name>/draws.parquet: how each pair of pairs.parquet was drawn, in the same order.

`same_observer`: the observer cap was relaxed. `same_observation`: another pivot uses another photo
of the branch's observation.
"""


@dataclass(frozen=True)
class Sample:
    """A finished sample.

    Attributes:
        pairs: Schema `PAIRS`, in pivot order.
        draws: Schema `DRAWS`, row for row.
        funnel: What each rule kept and removed.
        backend: What searched the neighbours; empty without visual branches.
    """

    pairs: pa.Table
    draws: pa.Table
    funnel: Funnel
    backend: str


@dataclass
class _Search:
    """Nearest photos of pivots, searched for many at once and kept by pivot photo."""

    domain: Domain
    embeddings: Embeddings
    rows: Ints
    places: Ints
    backend: str
    block_rows: int
    progress: Progress
    found: dict[int, Ints] = field(default_factory=dict)
    used_backend: str = ""

    def distance(self, first: int, second: int) -> float:
        """Return the squared distance of two photos (places in the domain)."""
        pair = read_rows(self.embeddings, self.rows[[first, second]])
        return float(squared_distances(pair[:1], pair[1:])[0])

    def ask(self, photos: list[int], depth: int) -> None:
        """Search the `depth` nearest photos of each photo (places in the domain)."""
        queries = read_rows(self.embeddings, self.rows[photos])
        result = nearest(
            self.embeddings,
            queries,
            depth,
            allowed=self.places >= 0,
            backend=self.backend,
            block_rows=self.block_rows,
            # The few later searches, after conflicts between pivots, would only confuse.
            progress=no_progress if self.found else self.progress,
        )
        self.used_backend = result.backend
        for photo, places in zip(photos, result.places, strict=True):
            near = self.places[places[places >= 0]]
            self.found[photo] = near[near != photo]


def sample_pairs(
    domain: Domain,
    plan: Plan,
    pivots: int,
    seed: int,
    *,
    rules: Rules | None = None,
    embeddings: Embeddings | None = None,
    reviewed: Mapping[int, int] | None = None,
    earlier: tuple[pa.Table, pa.Table] | None = None,
    backend: str = "auto",
    block_rows: int = BLOCK_ROWS,
    funnel: Funnel | None = None,
    progress: Progress = no_progress,
) -> Sample:
    """Draw `pivots` pivots and `plan.total` branches for each.

    Args:
        domain: Eligible photos.
        plan: Branches per pivot.
        pivots: Pivots wanted; every one gets all its branches.
        seed: Seed of the sample.
        rules: The choices of sampling definitions 5.3.
        embeddings: Needed for visual branches; without them `distance` stays empty.
        reviewed: Species id -> photo id that a reviewer chose as clearest; a species that is not
            in it is passed over. None takes the first candidate of every species.
        earlier: Pairs and draws of a sample to go on from: they stay as they are and in front,
            `pivots` further ones follow.
        backend: Neighbour search, see `neighbours.choose_backend`.
        block_rows: Rows per block of the search; never changes the result.
        funnel: Steps before this one (catalogue to eligible photos).
        progress: Shows the search and the pivots.

    Raises:
        CouldNotError: Fewer species than `pivots` can be filled; the message says what is short.
    """
    rules = rules or Rules()
    funnel = funnel or Funnel()
    if plan.visual and embeddings is None:
        raise CouldNotError("Visual branches need embeddings.", "Run `collect embed` first.")
    order = pivot_order(domain, _look_ahead(domain, plan, rules, funnel), seed)
    if earlier is not None:
        before = domain.tree.species_id[order]
        order = order[~np.isin(before, earlier[0]["pivot_species_id"].to_numpy())]
    if reviewed is not None:
        order = _accepted(domain, order, reviewed, funnel)
    if len(order) < pivots:
        raise CouldNotError(_too_few(len(order), pivots, plan), _ADVICE)
    search = None
    if plan.visual and embeddings is not None:
        places = domain.photo_places(embeddings.photo_ids)
        rows = np.full(len(domain.photo_id), -1, np.int64)
        rows[places[places >= 0]] = np.flatnonzero(places >= 0)
        search = _Search(domain, embeddings, rows, places, backend, block_rows, progress)
    rows_done, short = _fill(domain, plan, pivots, seed, rules, order, search, reviewed, earlier)
    _report(funnel, rows_done, short, pivots)
    if len(rows_done) < pivots:
        raise CouldNotError(_too_few(len(rows_done), pivots, plan), _ADVICE)
    start = 0 if earlier is None else int(np.max(earlier[0]["pivot_index"].to_numpy())) + 1
    pairs, draws = _tables(domain, rows_done, embeddings, start)
    if earlier is not None:
        pairs, draws = pa.concat_tables([earlier[0], pairs]), pa.concat_tables([earlier[1], draws])
        funnel.add("pairs: with those before", kept=pairs.num_rows, removed=0, why="sample goes on")
    return Sample(pairs, draws, funnel, search.used_backend if search else "")


_ADVICE = "Ask for fewer --pivots, a smaller --plan, or build a larger catalogue."


def _too_few(found: int, wanted: int, plan: Plan) -> str:
    return f"Only {found:,} of {wanted:,} pivots can be given {plan.words()}."


def asked_species(domain: Domain, plan: Plan, rules: Rules, seed: int) -> Ints:
    """Return tree positions of the species to be asked to be pivots, in their random order."""
    return pivot_order(domain, _look_ahead(domain, plan, rules, Funnel()), seed)


def _look_ahead(domain: Domain, plan: Plan, rules: Rules, funnel: Funnel) -> Ints:
    total = len(domain.tree.species_id)
    funnel.add("species with photos", kept=total, removed=0, why="species of the eligible photos")
    good = eligible_species(domain, rules.min_observations)
    funnel.add(
        "species: observations",
        kept=good.sum(),
        removed=total - good.sum(),
        why=f"fewer than {rules.min_observations} observations",
    )
    lacking = lacking_levels(
        domain,
        plan,
        distinct_species=rules.distinct_species,
        refill=rules.refill == NEXT_LEVEL,
    )
    for level, draws in plan.levels.items():
        lost = good & lacking[level]
        good = good & ~lost
        what = "different species" if rules.distinct_species and level != "species" else "branches"
        funnel.add(
            f"species: look-ahead {level}",
            kept=good.sum(),
            removed=lost.sum(),
            why=f"fewer than {draws} {what} at level {level}",
        )
    return np.flatnonzero(good)


def _accepted(domain: Domain, order: Ints, reviewed: Mapping[int, int], funnel: Funnel) -> Ints:
    chosen = np.array([int(s) in reviewed for s in domain.tree.species_id[order]], bool)
    funnel.add(
        "species: review",
        kept=chosen.sum(),
        removed=len(order) - chosen.sum(),
        why="no reviewer chose a clear photo of it (yet)",
    )
    accepted: Ints = order[chosen]
    return accepted


def _fill(
    domain: Domain,
    plan: Plan,
    pivots: int,
    seed: int,
    rules: Rules,
    order: Ints,
    search: _Search | None,
    reviewed: Mapping[int, int] | None,
    earlier: tuple[pa.Table, pa.Table] | None,
) -> tuple[list[Row], list[str]]:
    """Go through the species in order until `pivots` are filled."""
    used = Used(domain, plan, order)
    if earlier is not None:
        _mark_used(domain, used, earlier[0])
    rows: list[Row] = []
    short: list[str] = []
    candidates = _candidate_photos(domain, order, seed, reviewed)
    first = domain.photo_observation[candidates[:, 0]]
    proposals = {}
    if rules.rotation == SPECIES_ROTATION:
        proposals = propose(domain, plan, seed, order, first)
    for place in range(len(order)):
        if len(rows) == pivots:
            break
        used.had_turn(int(order[place]))
        pivot = _free(candidates[place], used, rules)
        if pivot < 0:
            short.append("pivot photo")
            continue
        if search is not None and pivot not in search.found:
            every = len(search.embeddings) < SMALL
            ahead = _upcoming(candidates[place:], pivots - len(rows), used, rules, every=every)
            search.ask([photo for photo in ahead if photo not in search.found], SEARCH_DEPTH)
        proposal = {level: drawn[place] for level, drawn in proposals.items()}
        is_first = domain.photo_observation[pivot] == first[place]
        row = _fill_row(
            Row(domain, rules, used, pivot, search.distance if search else None),
            plan,
            search,
            proposal if is_first and proposal else None,
            seed,
        )
        if isinstance(row, str):
            short.append(row)
            continue
        row.commit()
        rows.append(row)
    return rows, short


def _mark_used(domain: Domain, used: Used, pairs: pa.Table) -> None:
    both = (pairs[name].to_numpy() for name in ("pivot_photo_id", "branch_photo_id"))
    for photo in domain.photo_places(np.unique(np.concatenate(list(both)))).tolist():
        if photo >= 0:  # a photo may have left the catalogue since
            observation = int(domain.photo_observation[photo])
            used.add(photo, observation, int(domain.observation_species[observation]))


def _candidate_photos(
    domain: Domain, order: Ints, seed: int, reviewed: Mapping[int, int] | None
) -> Ints:
    """Return photo places a pivot species may show, best first; -1 pads."""
    if reviewed is not None:
        photos = np.array([reviewed[int(s)] for s in domain.tree.species_id[order]], np.int64)
        return domain.photo_places(photos)[:, None]
    observations = pivot_candidates(domain, order, seed)
    return np.where(observations < 0, -1, domain.photo_start[observations])


def _free(candidates: Ints, used: Used, rules: Rules) -> int:
    for photo in map(int, candidates):
        if photo >= 0 and (rules.reuse_photos or photo not in used.photos):
            return photo
    return -1


def _upcoming(candidates: Ints, wanted: int, used: Used, rules: Rules, *, every: bool) -> list[int]:
    """Return the pivots that are likely next: one search serves them all.

    With `every` also the photos that a species falls back to when its first one is taken.
    """
    margin = wanted // 20 + 1
    near = candidates[: wanted + margin]
    if every:
        return [int(photo) for photo in near.ravel() if photo >= 0]
    ahead = [_free(row, used, rules) for row in near]
    return [photo for photo in ahead if photo >= 0]


def _fill_row(
    row: Row, plan: Plan, search: _Search | None, proposal: dict[str, Ints] | None, seed: int
) -> Row | str:
    """Find all branches of a pivot, or name the level that cannot be filled.

    Visual neighbours come first and the levels draw from what they leave (5.3 no. 7). Where a level
    then runs short (the nearest photos of a species with four observations are its other three),
    that level is drawn before the visual neighbours: look-ahead promised it enough.
    """
    early: list[str] = []
    while True:
        trial = row.fresh()
        failed = trial.fill_levels(plan, early, proposal, seed)
        if not failed and search is not None and not _fill_visual(trial, plan, search):
            failed = VISUAL
        if not failed:
            later = [level for level in plan.levels if level not in early]
            failed = trial.fill_levels(plan, later, proposal, seed)
        if not failed:
            trial.sort_branches()
            return trial
        if failed in (VISUAL, *early) or search is None:
            return failed
        early.append(failed)


def _fill_visual(row: Row, plan: Plan, search: _Search) -> bool:
    """Add the visual neighbours, searching deeper when the rules refuse most of the nearest."""
    depth = SEARCH_DEPTH
    while not row.fill_visual(plan.visual, search.found[row.pivot].tolist(), cap=True):
        if len(search.found[row.pivot]) < depth - 1:
            return row.fill_visual(plan.visual, search.found[row.pivot].tolist(), cap=False)
        depth = max(depth, len(search.found[row.pivot]) + 1) * 4
        search.ask([row.pivot], depth)
    return True


def _report(funnel: Funnel, rows: list[Row], short: list[str], pivots: int) -> None:
    reasons = {reason: short.count(reason) for reason in sorted(set(short))}
    told = ", ".join(f"{reason}: {count}" for reason, count in reasons.items()) or "none"
    funnel.add(
        "pivots",
        kept=len(rows),
        removed=len(short),
        why=f"passed over because earlier pivots had used what was left ({told})",
    )
    branches = [branch for row in rows for branch in row.branches]
    funnel.add("pairs", kept=len(branches), removed=0, why="branches of the pivots")
    for what, count in [
        ("near-duplicates refused", sum(row.near_duplicates for row in rows)),
        ("observer cap relaxed", sum(branch.same_observer for branch in branches)),
        ("observation shared by two pivots", sum(branch.same_observation for branch in branches)),
    ]:
        funnel.add(f"pairs: {what}", kept=len(branches), removed=0, why=f"{count:,} times")


def _tables(
    domain: Domain, rows: list[Row], embeddings: Embeddings | None, start: int
) -> tuple[pa.Table, pa.Table]:
    pivot = np.array([row.pivot for row in rows for _ in row.branches], np.int64)
    branches = [branch for row in rows for branch in row.branches]
    branch = np.array([b.photo for b in branches], np.int64)
    ids, observation = domain.photo_id, domain.photo_observation
    species = domain.observation_species[observation]
    names = [f"{ids[a]}-{ids[b]}" for a, b in zip(pivot, branch, strict=True)]
    pairs = pa.table(
        {
            "pair_id": names,
            "pivot_index": [index for index, row in enumerate(rows, start) for _ in row.branches],
            "pivot_photo_id": ids[pivot],
            "branch_photo_id": ids[branch],
            "pivot_species_id": domain.tree.species_id[species[pivot]],
            "branch_species_id": domain.tree.species_id[species[branch]],
            "level_requested": [b.level for b in branches],
            "level_actual": domain.tree.level_between(species[pivot], species[branch]),
            "draw": [b.draw for b in branches],
            "distance": _distances(ids[pivot], ids[branch], embeddings),
            "neighbour_rank": [b.rank for b in branches],
        },
        schema=PAIRS,
    )
    draws = pa.table(
        {
            "pair_id": names,
            "pivot_observation_id": domain.observation_id[observation[pivot]],
            "branch_observation_id": domain.observation_id[observation[branch]],
            "same_observer": [b.same_observer for b in branches],
            "same_observation": [b.same_observation for b in branches],
        },
        schema=DRAWS,
    )
    return pairs, draws


def _distances(first: Ints, second: Ints, embeddings: Embeddings | None) -> pa.Array:
    if embeddings is None:
        return pa.nulls(len(first), pa.float32())
    order = np.argsort(embeddings.photo_ids, kind="stable")
    rows = [
        order[np.searchsorted(embeddings.photo_ids, photos, sorter=order)]
        for photos in (first, second)
    ]
    result = np.empty(len(first), np.float32)
    for start in range(0, len(first), 2048):
        part = slice(start, start + 2048)
        result[part] = squared_distances(
            read_rows(embeddings, rows[0][part]), read_rows(embeddings, rows[1][part])
        )
    return pa.array(result)
