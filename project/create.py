"""Make a new project directory."""

from __future__ import annotations

from pathlib import Path

from pairs_to_words.project.clock import Clock, iso, system_clock
from pairs_to_words.project.config import default_config, load_config
from pairs_to_words.project.errors import UserError
from pairs_to_words.project.files import write_text
from pairs_to_words.project.layout import Layout
from pairs_to_words.project.protocol import load_protocol
from pairs_to_words.project.store.engine import open_store, transaction
from pairs_to_words.project.store.events import log_event


def create_project(
    directory: Path, *, protocol: str, seed: int = 0, clock: Clock = system_clock
) -> Layout:
    """Make `directory` (which may exist) a project: collect.toml, then the state database.

    Raises:
        UserError: It is a project already, or there is no such protocol.
    """
    layout = Layout(directory.resolve())
    if layout.config.exists():
        raise UserError(
            f"{directory} is a project already.",
            "See `collect status`.",
        )
    if protocol.endswith(".toml"):
        protocol = str(Path(protocol).resolve())
    load_protocol(protocol)
    text = default_config(protocol=protocol, seed=seed)
    write_text(layout.config, text)
    engine = open_store(layout, load_config(layout.config))
    with transaction(engine) as connection:
        log_event(connection, iso(clock()), "project created", directory.name, protocol=protocol)
    engine.dispose()
    return layout
