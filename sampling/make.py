"""Make a project's sample: read its tables, draw, write the sample's folder, manifest last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import (
    hash_file,
    hash_value,
    read_parquet,
    remove_leftovers,
    write_parquet,
)
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.manifest import (
    Manifest,
    hash_inputs,
    is_current,
    read_manifest,
    write_manifest,
)
from pairs_to_words.project.progress import Progress, no_progress
from pairs_to_words.project.store.reviews import Review
from pairs_to_words.sampling.catalog import Catalog, catalog_files, load_catalog
from pairs_to_words.sampling.domain import Domain, build_domain
from pairs_to_words.sampling.eligible import eligible_photos
from pairs_to_words.sampling.embeddings import Embeddings, open_embeddings
from pairs_to_words.sampling.fill import Rules
from pairs_to_words.sampling.funnel import Funnel
from pairs_to_words.sampling.plan import Plan, parse_plan
from pairs_to_words.sampling.report import catalog_names, photo_files, write_sheet
from pairs_to_words.sampling.review import Question, accepted_photos, need_reviewed, questions
from pairs_to_words.sampling.sample import Sample, asked_species, sample_pairs


@dataclass(frozen=True)
class Request:
    """What decides a sample, besides the catalogue and the embeddings.

    Attributes:
        pivots: Pivots wanted.
        plan: Branches per pivot.
        seed: Seed.
        rules: The choices of sampling definitions 5.3.
        licenses: Allowed SPDX ids.
        encoder: Whose embeddings.
        reviewed: Pivots are the photos that reviewers chose, see `review`.
    """

    pivots: int
    plan: Plan
    seed: int
    rules: Rules
    licenses: tuple[str, ...]
    encoder: str
    reviewed: bool = False

    def config(self) -> dict[str, object]:
        """Return the request as the manifest keeps it.

        Rules at their defaults are left out, so that a version with another rule still finds older
        samples current.
        """
        usual = asdict(Rules())
        return {
            "pivots": self.pivots,
            "plan": self.plan.words(),
            "rules": {k: v for k, v in asdict(self.rules).items() if v != usual[k]},
            "licenses": list(self.licenses),
            "encoder": self.encoder,
            **({"reviewed": True} if self.reviewed else {}),
        }


def planned_manifest(
    layout: Layout, request: Request, decisions: Mapping[str, Review] | None = None
) -> Manifest:
    """Return the manifest that a sample made now would have, without its counts.

    Raises:
        UserError: The catalogue or the embeddings are not there.
    """
    files = catalog_files(layout)
    if not files["photos"].exists():
        load_catalog(layout)
    if request.plan.visual:
        directory = layout.embeddings(request.encoder)
        open_embeddings(directory)
        files["embeddings"] = directory / "manifest.json"
    inputs = hash_inputs(files)
    if request.reviewed:
        chosen = {key: review.decision for key, review in (decisions or {}).items()}
        inputs["reviews"] = hash_value(chosen)
    return Manifest("sample", inputs, request.config(), request.seed)


def is_made(layout: Layout, name: str, planned: Manifest) -> bool:
    """Tell whether the sample `name` is there and is what `planned` would make."""
    return is_current(layout.sample(name), planned)


def request_of(layout: Layout, name: str) -> Request:
    """Return the request that made a sample.

    Raises:
        UserError: There is no such finished sample.
    """
    manifest = read_manifest(layout.sample(name))
    if manifest is None:
        raise UserError(
            f"There is no finished sample {name!r}.", "Draw one with `collect sample --pivots N`."
        )
    config = manifest.config
    return Request(
        pivots=config["pivots"],
        plan=parse_plan(config["plan"]),
        seed=manifest.seed or 0,
        rules=Rules(**config["rules"]),
        licenses=tuple(config["licenses"]),
        encoder=config["encoder"],
        reviewed=config.get("reviewed", False),
    )


def continues(layout: Layout, name: str, request: Request) -> bool:
    """Tell whether `request` is a finished sample with more pivots and nothing else changed."""
    if read_manifest(layout.sample(name)) is None:
        return False
    present = request_of(layout, name)
    return present.pivots < request.pivots and replace(present, pivots=0) == replace(
        request, pivots=0
    )


def make_sample(
    layout: Layout,
    name: str,
    request: Request,
    *,
    decisions: Mapping[str, Review] | None = None,
    go_on: bool = False,
    backend: str = "auto",
    progress: Progress = no_progress,
) -> Sample:
    """Draw a sample and write pairs.parquet, draws.parquet, funnel.json, then the manifest.

    Raises:
        UserError: The catalogue or the embeddings are not there.
        CouldNotError: The domain is too small for the request.

    `decisions` are the pivot reviews that a reviewed request draws from. With `go_on` the pairs
    that are there stay, and `request.pivots` counts them in.
    """
    planned = planned_manifest(layout, request, decisions)
    earlier, before = None, 0
    if go_on:
        folder = layout.sample(name)
        earlier = (
            read_parquet(folder / "pairs.parquet"),
            read_parquet(folder / "draws.parquet"),
        )
        before = len(np.unique(earlier[0]["pivot_index"].to_numpy()))
    catalog = load_catalog(layout)
    domain, embeddings, funnel = read_domain(layout, catalog, request)
    reviewed = None
    if request.reviewed:
        asked = questions(
            domain, asked_species(domain, request.plan, request.rules, request.seed), request.seed
        )
        reviewed = accepted_photos(asked, decisions or {}, request.seed)
        need_reviewed(reviewed, request.pivots)
    sample = sample_pairs(
        domain,
        request.plan,
        request.pivots - before,
        request.seed,
        rules=request.rules,
        reviewed=reviewed,
        earlier=earlier,
        embeddings=embeddings,
        backend=backend,
        funnel=funnel,
        progress=progress,
    )
    _write(layout, name, sample, planned, catalog)
    return sample


def read_domain(
    layout: Layout, catalog: Catalog, request: Request
) -> tuple[Domain, Embeddings | None, Funnel]:
    """Read a project's eligible photos, their embeddings, and how they were filtered."""
    embeddings = None
    if request.plan.visual:
        embeddings = open_embeddings(layout.embeddings(request.encoder))
    funnel = Funnel()
    kept = eligible_photos(
        catalog.photos,
        funnel,
        licenses=request.licenses,
        with_file=None if catalog.index is None else catalog.index["photo_id"].to_numpy(),
        embedded=None if embeddings is None else embeddings.photo_ids,
    )
    return build_domain(kept, catalog.taxa, catalog.index), embeddings, funnel


def review_questions(
    layout: Layout, request: Request
) -> tuple[list[Question], dict[int, str], dict[int, Path]]:
    """Return what a reviewer is asked, the species' names and the photos' files."""
    catalog = load_catalog(layout)
    domain, _embeddings, _funnel = read_domain(layout, catalog, request)
    order = asked_species(domain, request.plan, request.rules, request.seed)
    return (
        questions(domain, order, request.seed),
        catalog_names(catalog),
        photo_files(layout, catalog),
    )


def _write(layout: Layout, name: str, sample: Sample, planned: Manifest, catalog: Catalog) -> None:
    directory = layout.sample(name)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "manifest.json").unlink(missing_ok=True)
    remove_leftovers(directory)
    for stale in [*directory.glob("contact-sheet*.jpg"), directory / "report.html"]:
        stale.unlink(missing_ok=True)
    write_parquet(directory / "pairs.parquet", sample.pairs)
    write_parquet(directory / "draws.parquet", sample.draws)
    sample.funnel.write(directory / "funnel.json")
    names = ["pairs.parquet", "draws.parquet", "funnel.json"]
    sheet = write_sheet(layout, name, sample.pairs.to_pandas(), catalog)
    if sheet is not None:
        names.append(sheet.name)
    write_manifest(
        directory,
        Manifest(
            planned.stage,
            planned.inputs,
            planned.config,
            planned.seed,
            outputs={name: hash_file(directory / name) for name in names},
            counts={
                "pairs": sample.pairs.num_rows,
                "pivots": int(planned.config["pivots"]),
            },
            notes={"backend": sample.backend, "reviewed": "reviewed" in planned.config},
        ),
    )
