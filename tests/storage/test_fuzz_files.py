"""Damaged files, some of them; ``scripts/fuzz_files.py`` takes a million."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_damaged_file_is_taken_for_a_sound_one() -> None:
    words = ["--unchecked", "--inputs", "700", "--seed", "5"]
    command = [sys.executable, "-m", "scripts.fuzz_files", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert re.search(r"^700 inputs, 0 defects, seed 5", done.stdout, re.MULTILINE)
    # Mutations that change nothing but bytes of the archive are taken for what they are.
    assert "change_zip: same content" in done.stdout
    assert "change_array: refused" in done.stdout
