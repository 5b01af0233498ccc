"""The `collect` command: the table of verbs, and the one place where errors become exit codes."""

from __future__ import annotations

import sys
from importlib.metadata import version

import click
from pairs_to_words.collect.lazy import CommandTable, LazyGroup
from pairs_to_words.project.errors import PersonError

COMMANDS: CommandTable = {
    "init": ("init", "Make a new project directory."),
    "status": ("status", "Tell where the project stands and what to type next."),
    "catalog": ("catalog", "Build the catalogue of photos and taxa."),
    "embed": ("embed", "Embed the catalogue's photos with a pretrained encoder."),
    "review": ("review", "Choose pivots by eye, or review annotators."),
    "sample": ("sample", "Choose pivots and branches: the image pairs to ask about."),
    "serve": ("serve", "Run this project's own crowd: MTurk protocol and worker site."),
    "launch": ("launch", "Publish a task to the crowd."),
    "simulate": ("simulate", "Let simulated annotators work on the local crowd."),
    "pull": ("pull", "Fetch new submissions into the project."),
    "approve": ("approve", "Approve submissions and so pay for them."),
    "reject": ("reject", "Reject submissions with a reason."),
    "bonus": ("bonus", "Pay the bonuses that a review round earned."),
    "import": ("import_", "Bring in finished crowd work from files."),
    "audit": ("audit", "Report agreement and each annotator's quality."),
    "agreement": ("agreement", "Compute agreement on anybody's file."),
    "release": ("release", "Build and check versioned releases."),
    "train": ("train", "Train a reference model on a release."),
    "report": ("report", "Make one page that shows the whole project."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(version("pairs-to-words"), prog_name="collect")
def collect() -> None:
    """Build image-language datasets with a crowd.

    Example: collect init birds --protocol birds-to-words
    """


def run() -> None:
    """Run the command line and exit with the documented code (see `project.errors`)."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    """Run one command line; return its exit code."""
    try:
        result = collect.main(arguments, prog_name="collect", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted. The same command again continues.", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except PersonError as error:
        click.echo(f"Error: {error}", err=True)
        return error.exit_code


if __name__ == "__main__":
    run()
