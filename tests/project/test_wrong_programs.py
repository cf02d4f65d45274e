"""The wrong programs that the tests must catch can still be made of this code."""

from __future__ import annotations

from support.command_line import python


def test_every_patch_applies() -> None:
    """Who changes patched code writes the patch anew, in ``scripts/wrong_programs.toml``."""
    done = python("-m", "scripts.wrong_programs", "--check")
    assert done.returncode == 0, done.stderr
