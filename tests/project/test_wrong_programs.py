"""The wrong programs that the tests must catch can still be made of this code."""

from __future__ import annotations

import subprocess
import sys

from support.paths import ROOT


def test_every_patch_applies() -> None:
    """Who changes patched code writes the patch anew, in ``scripts/wrong_programs.toml``."""
    command = [sys.executable, "-m", "scripts.wrong_programs", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
