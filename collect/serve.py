"""`collect serve`: run this project's own crowd."""

from __future__ import annotations

import click
from pairs_to_words.collect.context import OpenProject, project_option
from pairs_to_words.collect.output import note, say


@click.command("serve")
@project_option
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on; others than loopback open the site to the network.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port; 0 takes a free one.  [default: [crowd] port in collect.toml]",
)
@click.option(
    "--database",
    default="",
    envvar="COLLECT_CROWD_DATABASE",
    metavar="URL",
    help="PostgreSQL URL of the crowd's own database.  [default: crowd/server.db]",
)
@click.option(
    "--public-url",
    default="",
    metavar="URL",
    help="Where workers reach the site from outside, such as https://crowd.example.org.",
)
@click.option(
    "--opening-balance",
    default="100000.00",
    show_default=True,
    metavar="USD",
    help="Play money of a new account.",
)
def command(
    project: OpenProject,
    host: str,
    port: int | None,
    database: str,
    public_url: str,
    opening_balance: str,
) -> None:
    """Run this project's own crowd: the MTurk protocol and the worker site, until Ctrl-C.

    Example: collect serve --port 8765
    """
    from pairs_to_words.annotation.server.run import serve

    def ready(url: str) -> None:
        say(f"Listening on {url}")
        note(f"Worker site and requester protocol: {url} (stop with Ctrl-C)")
        note(f"Requester page: {url}/requester (admin token in {project.layout.secrets})")

    serve(
        project.layout,
        host=host,
        port=project.config.crowd.port if port is None else port,
        database=database,
        public_url=public_url,
        opening_balance=opening_balance,
        ready=ready,
    )
