"""The solvers compute the bits that ``tests/data/ledger.json`` records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts import ledger

CASE = "kuhn | cfr+ | float64 | 1"


@pytest.mark.slow
@pytest.mark.compiled
def test_all_bits_are_as_before() -> None:
    assert ledger.compare(ledger.LEDGER, "") == 0


def test_a_changed_bit_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ledger.json"
    ledger.write(path, CASE)
    assert ledger.compare(path, CASE) == 0
    written = json.loads(path.read_text())
    assert list(written["cases"]) == [CASE]
    written["cases"][CASE]["state"] = "0" * 32
    path.write_text(json.dumps(written))
    capsys.readouterr()
    assert ledger.compare(path, CASE) == 1
    assert capsys.readouterr().out.startswith(f"{CASE}: state\n")


def changed(path: Path, **parts: Any) -> None:
    """Write a file of another machine, with other parts of its one case."""
    written = json.loads(path.read_text())
    written["machine"]["processor"] = "another one"
    written["cases"][CASE] |= parts
    path.write_text(json.dumps(written))


def test_on_another_machine_numbers_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger.write(path, CASE)
    numbers = json.loads(path.read_text())["cases"][CASE]["numbers"]
    changed(path, state="0" * 32, numbers=[number + 1e-9 for number in numbers])
    assert ledger.compare(path, CASE) == 0
    changed(path, numbers=[number + 1e-3 for number in numbers])
    assert ledger.compare(path, CASE) == 1


def test_a_case_that_is_gone_is_told(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger.write(path, CASE)
    written = json.loads(path.read_text())
    written["cases"][f"{CASE}, too"] = written["cases"][CASE]
    path.write_text(json.dumps(written))
    assert ledger.compare(path, CASE) == 1


def test_digests_tell_arrays_apart() -> None:
    a = np.arange(4.0)
    kinds = (a, a.astype(np.float32), a.reshape(2, 2), -a, (a[:2], a[2:]), {"a": a}, np.nan)
    assert len({ledger.digest(kind) for kind in kinds}) == len(kinds)
    assert ledger.digest(a[::2]) == ledger.digest(a[::2].copy())
    assert ledger.digest(0.0) != ledger.digest(-0.0)
