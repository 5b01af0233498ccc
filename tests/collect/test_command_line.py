"""The promises of every command: quick help with an example, exit codes, one clear line."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from pairs_to_words.collect.lazy import LazyGroup
from pairs_to_words.collect.main import COMMANDS, collect, main
from pairs_to_words.project.layout import Layout

HEAVY = ["torch", "timm", "faiss", "pandas", "numpy", "pyarrow", "sqlalchemy", "boto3", "pydantic"]


def every_command() -> list[tuple[str, click.Command]]:
    context = click.Context(collect)
    found: list[tuple[str, click.Command]] = []

    def walk(name: str, command: click.Command) -> None:
        found.append((name, command))
        if isinstance(command, click.Group):
            for child in command.list_commands(context):
                sub = command.get_command(context, child)
                assert sub is not None
                walk(f"{name} {child}", sub)

    for verb in COMMANDS:
        command = collect.get_command(context, verb)
        assert command is not None
        walk(verb, command)
    return found


def test_help_imports_nothing_heavy() -> None:
    script = f"""
import sys
from pairs_to_words.collect.main import main
main(["--help"])
print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"
    for verb in COMMANDS:
        assert verb in done.stdout


@pytest.mark.parametrize(("name", "command"), every_command(), ids=[n for n, _ in every_command()])
def test_every_command_explains_itself_with_an_example(name: str, command: click.Command) -> None:
    assert command.help, name
    assert "Example: collect" in command.help, name
    if not isinstance(command, click.Group):
        undocumented = [
            option.name
            for option in command.params
            if isinstance(option, click.Option) and not option.help
        ]
        assert undocumented == [], name


def test_commands_are_two_levels_deep_at_most() -> None:
    assert max(name.count(" ") for name, _command in every_command()) <= 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["statsu"], "Did you mean 'status'?"),
        (["init"], "Missing argument 'DIRECTORY'"),
        (["init", "x", "--sede", "1"], "No such option"),
        (["init", "x", "--seed", "-1"], "x>=0"),
        (["init", "x", "--protocol", "birdz"], "Packaged: birds-to-words"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_says_what_is_known(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = [str(tmp_path / "x") if a == "x" else a for a in arguments]
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert expected in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_a_command_outside_a_project_says_how_to_make_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["status", "--project", str(tmp_path)]) == 2
    assert "collect init DIR" in capsys.readouterr().err


def test_a_wrong_configuration_is_one_line_and_exit_code_2(
    project: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    project.config.write_text("[project]\nsede = 1\n")
    assert main(["status", "--project", str(project.root)]) == 2
    error = capsys.readouterr().err
    assert "did you mean `seed`?" in error
    assert len(error.strip().splitlines()) == 1


def test_an_interrupted_command_is_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_args: object, **_kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LazyGroup, "invoke", interrupt)
    assert main(["status"]) == 130
