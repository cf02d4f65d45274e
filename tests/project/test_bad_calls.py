"""Bad calls of all that is public are refused by name; ``scripts/bad_calls.py`` makes them all."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")


def test_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """250 of them, another sample in no two versions of the list of calls."""
    monkeypatch.chdir(tmp_path)  # Some texts are names of files.
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    from scripts import bad_calls

    calls = bad_calls.all_calls(tmp_path)
    assert len(calls) > 2000  # The number that was asked for.
    faults = [
        f"{call.what}({call.parameter}={call.value}): {outcome}"
        for call in Random(7).sample(calls, 250)
        if (outcome := bad_calls.judge(call)).startswith("FAULT")
    ]
    assert not faults, ascii("\n".join(faults))  # Half a surrogate pair cannot be printed.
