"""Damaged files, some of them; ``scripts/fuzz.py`` takes a million."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def fuzz(*words: str) -> str:
    """What the script says of some inputs, which must be without a defect."""
    command = [sys.executable, "-m", "scripts.fuzz", "files", "--here", "--seed", "5", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_no_damaged_file_is_taken_for_a_sound_one() -> None:
    kinds = "header,table,game,solution,boards,cut,spot,efg,nfg,csv,json,npz,parquet"
    said = fuzz("--kinds", kinds, "--inputs", "250")
    assert re.search(r"^250 inputs, 0 defects, seed 5", said, re.MULTILINE)
    # Mutations that change nothing but bytes of the archive are taken for what they are.
    assert "change_zip: same content" in said
    assert "change_array: refused" in said


@pytest.mark.full
def test_no_damaged_chunks_are_taken_for_sound_ones() -> None:
    said = fuzz("--kinds", "chunks,checkpoint,resume", "--inputs", "300")
    assert re.search(r"^300 inputs, 0 defects, seed 5", said, re.MULTILINE)
