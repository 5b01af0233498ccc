"""Find and open the project that a command works in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from pairs_to_words.project.layout import Layout, find_project

if TYPE_CHECKING:
    from pairs_to_words.project.config import Config
    from pairs_to_words.project.protocol import ProtocolDeclaration
    from sqlalchemy import Engine

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True)
class OpenProject:
    """One project as commands use it; configuration and state are opened on first use."""

    layout: Layout

    @cached_property
    def config(self) -> Config:
        """The validated collect.toml."""
        from pairs_to_words.project.config import load_config

        return load_config(self.layout.config)

    @cached_property
    def protocol(self) -> ProtocolDeclaration:
        """The protocol named in collect.toml."""
        from pairs_to_words.project.protocol import load_protocol

        return load_protocol(self.config.project.protocol)

    @cached_property
    def store(self) -> Engine:
        """The state database, migrated."""
        from pairs_to_words.project.store.engine import open_store

        return open_store(self.layout, self.config)


def project_option(function: Decorated) -> Decorated:
    """Add `--project DIR`; the command receives an `OpenProject` named `project`."""

    def opened(_ctx: click.Context, _param: click.Parameter, value: Path | None) -> OpenProject:
        return OpenProject(find_project(value or Path.cwd()))

    return click.option(
        "--project",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="COLLECT_PROJECT",
        callback=opened,
        help="Project directory.  [default: the nearest one upwards with collect.toml]",
    )(function)
