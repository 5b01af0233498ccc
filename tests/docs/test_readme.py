"""What the docs show is true: commands exist and run, examples work, links lead somewhere."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest
from pairs_to_words.collect.main import COMMANDS, collect, main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
README = (ROOT / "README.md").read_text()
DEMO = (ROOT / "docs" / "demo.sh").read_text()

ANSWERS = """photo,who,answer
p1,ann,cat
p1,bob,cat
p2,ann,dog
p2,bob,cat
p3,ann,dog
p3,bob,dog
"""


def blocks(text: str, language: str = "") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def commands(text: str) -> list[str]:
    """Every `collect ...` line in a code block, and every one in inline code."""
    lines = [line for block in blocks(text, "[a-z]*") for line in block.splitlines()]
    inline = re.findall(r"`(collect [^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
    found = []
    for line in [*lines, *inline]:
        command = line.split("#")[0].split("&&")[0].strip().removeprefix("$ ").rstrip("& ")
        if command.startswith("collect "):
            found.append(command)
    return found


def every_command() -> list[tuple[str, str]]:
    return sorted({(page.name, c) for page in PAGES for c in commands(page.read_text())})


@pytest.mark.parametrize(("page", "line"), every_command())
def test_every_command_in_the_docs_is_one_that_collect_understands(page: str, line: str) -> None:
    if "..." in line or line.isupper():
        pytest.skip("a pattern, not a command to type")
    words = shlex.split(line)[1:]
    assert words[0] in COMMANDS, f"{page}: {line}"
    context = click.Context(collect)
    command = collect.get_command(context, words[0])
    rest = words[1:]
    while isinstance(command, click.Group) and rest and rest[0] in command.list_commands(context):
        command, rest = command.get_command(context, rest[0]), rest[1:]
    assert command is not None
    known = {name for option in command.params for name in [*option.opts, *option.secondary_opts]}
    used = {word.split("=")[0] for word in rest if word.startswith("--")}
    assert used <= known | {"--help"}, f"{page}: {line}"


def test_the_pipeline_of_the_readme_is_what_the_demo_runs() -> None:
    pipeline = README.split("## From an empty folder")[1].split("## Agreement on your own")[0]
    typed = [command for block in blocks(pipeline) for command in commands(f"```\n{block}```")]
    assert len(typed) > 10
    missing = [
        c for c in typed if c not in DEMO and not c.startswith(("collect init", "collect s"))
    ]
    assert missing == []
    for command in ("collect sample --pivots 405 --k 12", "collect serve"):
        assert command in DEMO


def test_agreement_on_the_readers_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "answers.csv").write_text(ANSWERS)
    monkeypatch.chdir(tmp_path)
    (line,) = [c for c in commands(README) if c.startswith("collect agreement")]
    assert main(shlex.split(line)[1:]) == 0
    assert "krippendorff_alpha_nominal" in capsys.readouterr().out
    assert main([*shlex.split(line)[1:], "--json"]) == 0
    found = {row["coefficient"]: row for row in json.loads(capsys.readouterr().out)["agreement"]}
    # Three items, two labels each (cat cat, dog cat, dog dog): alpha = 1 - 5 * 2 / (2 * 3 * 3).
    assert found["krippendorff_alpha_nominal"]["value"] == pytest.approx(4 / 9, abs=1e-12)


def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "answers.csv").write_text(ANSWERS)
    monkeypatch.chdir(tmp_path)
    (example,) = blocks(README, "python")
    exec(compile(example, "README.md", "exec"), {})
    assert "krippendorff_alpha_nominal per_worker 0.444" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_in_the_docs_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    local = [link for link in links if not link.startswith(("http:", "https:"))]
    missing = [link for link in local if not (page.parent / link).exists()]
    assert missing == []
