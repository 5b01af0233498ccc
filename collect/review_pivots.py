"""The body of `collect review`: people choose the clearest photo of each pivot species."""

from __future__ import annotations

import getpass
import threading

from pairs_to_words.collect.context import OpenProject
from pairs_to_words.collect.output import next_step, note, say, say_json
from pairs_to_words.project.clock import system_clock
from pairs_to_words.project.store.engine import transaction
from pairs_to_words.project.store.reviews import Review, add_reviews, current_reviews
from pairs_to_words.sampling.fill import Rules
from pairs_to_words.sampling.make import Request, review_questions
from pairs_to_words.sampling.plan import parse_plan
from pairs_to_words.sampling.review import PIVOT, ReviewQueue


def review_pivots(
    project: OpenProject,
    pivots: int,
    *,
    plan: str | None,
    seed: int | None,
    reviewer: str | None,
    port: int,
    status: bool,
    as_json: bool,
) -> None:
    """Serve the review page until all pivots are decided or Ctrl-C, then tell how far it is."""
    config = project.config
    request = Request(
        pivots=pivots,
        plan=parse_plan(plan or config.sample.plan),
        seed=config.project.seed if seed is None else seed,
        rules=Rules(min_observations=config.sample.min_observations),
        licenses=tuple(config.release.licenses),
        encoder=config.embed.encoder,
    )
    asked, names, files = review_questions(project.layout, request)
    with transaction(project.store) as connection:
        decisions = current_reviews(connection, PIVOT)

    def save(review: Review) -> None:
        with transaction(project.store) as connection:
            add_reviews(connection, [review])

    queue = ReviewQueue(asked, pivots, request.seed, decisions, save, system_clock)
    if not status and not queue.done():
        from pairs_to_words.sampling.review_site import running

        finished = threading.Event()
        changed = lambda: finished.set() if queue.done() else finished.clear()  # noqa: E731
        who = reviewer or getpass.getuser()
        with running(queue, names, files, port=port, reviewer=who, on_change=changed) as site:
            say(f"Review at {site.url}")
            note("Several reviewers: add ?reviewer=NAME each. Ctrl-C stops; nothing is lost.")
            try:
                finished.wait()
            except KeyboardInterrupt:
                note("Stopped.")
    counts = queue.counts()
    if as_json:
        say_json(counts | {"done": queue.done()})
    else:
        say(
            f"{counts['accepted']:,} of {counts['wanted']:,} pivots accepted,"
            f" {counts['rejected']:,} species passed over."
        )
    same = f"--pivots {pivots}" + ("" if seed is None else f" --seed {seed}")
    if queue.done():
        next_step(f"collect sample {same} --reviewed")
    else:
        next_step(f"collect review {same}")
