"""Files of settings, old names of options, groups of commands, the guide."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from support.command_line import FAILURE, USAGE, invoke, printed, refused
from tensorcfr import compile_game, solve
from tensorcfr.algorithms import CHANCE_SAMPLING
from tensorcfr.cli import app as commands
from tensorcfr.cli.guide import TASKS
from tensorcfr.games import SPOTS


def names(functions: tuple[Any, ...]) -> list[str]:
    return [one.__name__ for one in functions]


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_file_of_settings(tmp_path: Path) -> None:
    """Keys at the top are for all commands that have them, and the command line comes first."""
    path = written(
        tmp_path / "s.toml",
        'memory_limit = "1GiB"\nseed = 3\n[solve]\niters = 7\nsimultaneous = true\n'
        'checkpoints = "3"\nset = ["cards=4"]\n',
    )
    after = ("solve", "kuhn", "--algorithm", "chance_sampling", "--json", "--settings", path)
    said = json.loads(printed(*after))
    expected = solve(
        compile_game("kuhn(cards=4)"),
        CHANCE_SAMPLING(alternating=False),
        iters=7,
        seed=3,
        checkpoints=3,
    )
    assert said["iterations"] == 7
    assert [point["iteration"] for point in said["trace"]] == [3, 6, 7]
    before = ("--settings", path, *after[:-2])
    assert json.loads(printed(*before))["exploitability"] == said["exploitability"]
    assert said["exploitability"] == expected.exploitability
    fewer = json.loads(printed(*after, "--iters", "2", f"--settings={path}"))
    assert fewer["iterations"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("itres = 7", "no command has 'itres'; did you mean 'iters'?"),
        ("[solv]\niters = 7", "there is no command 'solv'; did you mean 'solve'?"),
        ("[solve]\nnode = 7", "solve has no 'node'; did you mean 'nodes'?"),
        ("iters =", "s.toml: "),
        ("iters = " + "[" * 3000, "s.toml: it is nested too deeply"),
    ],
)
def test_wrong_settings(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path / "s.toml", text)
    assert message in refused(USAGE, "solve", "kuhn", "--settings", path)


def test_no_such_file(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    assert refused(FAILURE, "solve", "kuhn", "--settings", path).endswith(
        "No such file or directory"
    )


def test_settings_are_options_of_the_command_line_too() -> None:
    result = invoke("solve", "kuhn", "--iters=2", "--simultaneous")
    assert (result.exit_code, result.stderr) == (0, "")


def test_help_lists_groups_and_settings() -> None:
    text = printed("--help")
    headings = re.findall(r"^(\w+):$", text, re.MULTILINE)
    assert headings[-len(commands.COMMANDS) :] == list(commands.COMMANDS)
    text = printed("solve", "--help")
    options, _, settings = text.partition("Settings, keys of the TOML file of --settings:")
    assert "--iters" in options
    assert "keep_best" not in options
    assert "keep_best" in settings


def test_every_option_is_explained() -> None:
    """By the docstring of its command, by its record of options, or by the shared words."""
    group: Any = get_command(commands.app)
    explained = {
        (name, one.name): one
        for name, command in group.commands.items()
        for one in command.params
        if one.param_type_name == "argument" or not one.is_eager
    }
    assert [place for place, one in explained.items() if not one.help] == []
    shared, with_spots = explained["solve", "nodes"], explained["spot", "game"]
    assert (shared.hidden, explained["sweep", "nodes"].hidden) == (True, False)
    assert shared.metavar == "NUMBER"
    assert ", ".join(SPOTS) in with_spots.help
    assert (with_spots.hidden, explained["play", "game"].hidden) == (False, True)
    both, one_way = explained["boards", "equity"], explained["play", "hints"]
    assert (both.opts, both.secondary_opts) == (["--equity"], ["--no-equity"])
    assert (one_way.opts, one_way.secondary_opts) == (["--hints"], [])


def test_what_one_may_want() -> None:
    """Every command of the guide is there, with options that it takes."""
    text = printed()
    assert text.startswith("What do you want to do?\n")
    for what, command, _ in TASKS:
        assert f"  {what}" in text
        name = command.split()[1]
        help_of_it = printed(name, "--help")
        for option in re.findall(r" (--?[a-z-]+)", command):
            assert option in help_of_it


@pytest.mark.compiled
def test_one_target_by_every_door(tmp_path: Path) -> None:
    """A spot is solved alike by ``solve``, ``spot`` and Python: algorithm, precision, end."""
    spot = tmp_path / "spot.toml"
    words = (
        *("--board", "QsJh2h8d3c", "--oop", "AA,KK,QQ,AKs", "--ip", "AA-TT,AKs,AQs,AKo"),
        *("--pot", "100", "--stacks", "200", "--bets", "50%", "--raises", "60%"),
    )
    printed("spot", *words, "--size", "--save-spot", spot)
    game = compile_game(spot)
    for target, python in (((), {}), (("--target", "0.1%"), {"target": "0.1 chips"})):
        expected = solve(game, **python)  # type: ignore[arg-type]
        assert expected.state.regret.dtype == "float32"
        said = json.loads(printed("solve", spot, "--json", *target))
        assert said["iterations"] == expected.iterations
        assert said["exploitability"] == expected.exploitability
        assert said["algorithm"] == str(expected.algorithm)
        shown = printed("spot", spot, *target)
        assert f"after {expected.iterations:,} iterations" in shown
        assert f"exploitability {expected.exploitability:.4g} chips" in shown
    assert refused(USAGE, "spot", spot, "--target", "0.1") == (
        "--target 0.1 needs a unit: 0.1% or '0.1 chips'"
    )
