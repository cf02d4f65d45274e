"""The checkers in Python and in C, written independently, agree on certificates."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.paths import ROOT
from tensorcfr import compile_game, solve

C_COMPILER = shutil.which("cc")
PYTHON_CHECKER = ROOT / "tensorcfr" / "formats" / "checker.py"
NUMBER = re.compile(r"-?\d[\d.e/+-]*")

pytestmark = [
    pytest.mark.skipif(C_COMPILER is None, reason="needs a C compiler"),
    pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs a wide long double"),
]


@pytest.fixture(scope="module")
def c_checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the checker in C."""
    program = tmp_path_factory.mktemp("checker") / "checker"
    source = ROOT / "scripts" / "checker.c"
    command = [str(C_COMPILER), "-std=c11", "-O1", "-o", str(program), str(source), "-lm"]
    subprocess.run(command, check=True, timeout=300)
    return program


def certificate(path: Path, game: str, parameters: dict[str, Any], how: dict[str, Any]) -> Path:
    """Write the certificate of a solution."""
    return Path(solve(compile_game(game, **parameters), **how).certify(path))


def run_both(c_checker: Path, path: Path) -> list[subprocess.CompletedProcess[str]]:
    """Run the checker in C and the checker in Python."""
    commands = [[str(c_checker), str(path)], [sys.executable, str(PYTHON_CHECKER), str(path)]]
    return [
        subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        for command in commands
    ]


@pytest.mark.parametrize(
    ("game", "parameters", "how"),
    [
        ("kuhn", {"cards": 5}, {"iters": 20}),
        ("leduc", {"ranks": 2, "raise_cap": 1}, {"iters": 20}),
        ("kuhn", {"players": 3}, {"iters": 20}),  # written as a tree
    ],
)
def test_the_numbers_agree(
    tmp_path: Path, c_checker: Path, game: str, parameters: dict[str, Any], how: dict[str, Any]
) -> None:
    path = certificate(tmp_path / "game.cert", game, parameters, how)
    in_c, in_python = run_both(c_checker, path)
    assert (in_c.returncode, in_python.returncode) == (0, 0), in_c.stderr + in_python.stderr
    lines = list(zip(in_c.stdout.splitlines(), in_python.stdout.splitlines(), strict=True))
    assert len(lines) >= 5
    for c_line, python_line in lines:
        (name, c_text), (python_name, python_text) = (
            line.split(": ") for line in (c_line, python_line)
        )
        assert name == python_name
        lower, upper = map(float, NUMBER.findall(c_text))
        number = float(NUMBER.findall(python_text)[0])
        # Python prints the nearest double, so it may leave the narrow interval by half a step.
        step = float(np.spacing(abs(number)))
        assert lower - step <= number <= upper + step
        assert upper - lower < 1e-15


def test_exact_claims_agree(tmp_path: Path, c_checker: Path) -> None:
    path = certificate(tmp_path / "kuhn.cert", "kuhn", {}, {"target": 0})
    in_c, in_python = run_both(c_checker, path)
    assert (in_c.returncode, in_python.returncode) == (0, 0)
    assert in_c.stdout == in_python.stdout
    assert "value 0: exactly -1/18" in in_c.stdout


@pytest.mark.parametrize("forged", ["claim", "strategy"])
def test_both_refuse_a_forged_file(tmp_path: Path, c_checker: Path, forged: str) -> None:
    path = certificate(tmp_path / "kuhn.cert", "kuhn", {}, {"iters": 20})
    entries = json.loads(path.read_text("utf-8"))
    if forged == "claim":
        entries["claims"]["exploitability"] = ["0", "1e-9"]
    else:
        entries["strategies"]["K"] = {"pass": "1/2", "bet": "1/2"}
    path.write_text(json.dumps(entries, ensure_ascii=False), "utf-8")
    for run in run_both(c_checker, path):
        assert run.returncode == 1
        assert "refused" in run.stderr
