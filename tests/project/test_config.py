"""collect.toml: defaults, comments and errors that name the key."""

from pathlib import Path

import pytest
from pairs_to_words.project.config import Config, default_config, load_config
from pairs_to_words.project.errors import UserError


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "collect.toml"
    path.write_text(text)
    return path


def test_the_written_default_reads_back_as_the_defaults(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, default_config())) == Config()


def test_every_option_is_written_with_a_comment() -> None:
    options = [line for line in default_config().splitlines() if "=" in line.split("#")[0]]
    fields = sum(len(info.annotation.model_fields) for info in Config.model_fields.values())
    assert len(options) == fields
    assert all("  # " in line for line in options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[project]\nprotocl = "nlvr2"', "unknown key `project.protocl`: did you mean `protocol`?"),
        ("[smaple]\nseed = 1", "unknown key `smaple`: did you mean `sample`?"),
        ('[project]\nseed = "x"', "key `project.seed`: Input should be a valid integer"),
        ("[project]\nseed = -1", "key `project.seed`: Input should be greater than or equal to 0"),
        ('[qc]\nconvention = "both"', "key `qc.convention`"),
        ('[crowd]\nmax_cost = "a lot"', "key `crowd.max_cost`"),
        ("[project\n", "not valid TOML"),
    ],
)
def test_a_wrong_configuration_names_file_and_key(tmp_path: Path, text: str, expected: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UserError) as error:
        load_config(path)
    assert expected in str(error.value)
    assert str(path) in str(error.value)


def test_quotes_and_backslashes_survive_the_written_file(tmp_path: Path) -> None:
    protocol = 'C:\\birds "two".toml'
    path = write(tmp_path, default_config(protocol=protocol))
    assert load_config(path).project.protocol == protocol
