"""`collect report`: one page that shows the whole project."""

from __future__ import annotations

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.output import json_option, next_step, say, say_json


@click.command("report")
@project_option
@json_option
def command(project: OpenProject, as_json: bool) -> None:
    """Make one page that shows the sample, agreement, annotators, release and model outputs.

    The page, report/index.html, is self-contained: it opens without a network and can be mailed.

    Example: collect report
    """
    from pairs_to_words.collect.project_report import build_report, gather

    facts = gather(project.layout, project.config, project.protocol)
    page = build_report(project.layout, facts)
    if as_json:
        say_json({"page": str(page), "sections": facts.present})
        return
    say(f"Wrote {page} ({', '.join(facts.present) or 'nothing to show yet'}).")
    next_step("collect status")
