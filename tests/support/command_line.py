"""The command line, called within the process, and Python in one of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from support.paths import ROOT
from tensorcfr.cli import app as commands

FAILURE = 1


USAGE = 2


def invoke(*words: str | Path, typed: str | None = None) -> Result:
    return CliRunner().invoke(commands.app, [str(word) for word in words], input=typed)


def told(result: Result) -> list[str]:
    """The lines on standard error, those apart that say that an option has become a setting."""
    lines = result.stderr.splitlines()
    return [line for line in lines if " goes into the file of --settings: " not in line]


def printed(*words: str | Path) -> str:
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    assert told(result) == []
    return result.stdout


def refused(code: int, *words: str | Path) -> str:
    """The one line on standard error."""
    result = invoke(*words)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (line,) = told(result)
    prefix, _, message = line.partition("tensorcfr: ")
    assert prefix == ""
    return message


def python(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """A run of Python in the folder of the project."""
    command = [sys.executable, *map(str, words)]
    options = {"cwd": ROOT, "capture_output": True, "text": True, "check": False} | options
    return subprocess.run(command, **options)
