"""A click group that imports a command's module only when that command is used."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

import click

# verb -> (module in pairs_to_words.collect, one line for `collect --help`)
CommandTable = dict[str, tuple[str, str]]


class LazyGroup(click.Group):
    """Looks commands up in a table of modules; each module defines `command`."""

    def __init__(self, *args: Any, table: CommandTable, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in pipeline order."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in self.table:
            return None
        module, _help = self.table[cmd_name]
        command: click.Command = import_module(f"pairs_to_words.collect.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs from the table, importing nothing."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, text) for verb, (_module, text) in self.table.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Answer an unknown verb with the nearest known one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], self.table, n=1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from None
