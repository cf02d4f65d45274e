"""Command ``compile``: compilation of kernels in advance, for containers and servers."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from .._util.hardware import available_cores
from .._util.jit_ahead import HELPERS, PYTHON_STEPS
from .console import FAILURE, end
from .declared_options import command

RANGES = "--pot 10 --stacks 20 --bets 60%,a --raises a --iters 2"
FEATURES: Mapping[str, tuple[str, ...]] = {
    "solve": ("solve leduc --iters 2", "solve leduc --iters 2 --algorithm cfr+"),
    "sample": (
        "solve leduc --iters 2 --algorithm external_sampling",
        "solve leduc --iters 2 --algorithm outcome_sampling",
    ),
    "river": (f"spot --board Qs9s4h7s2c --oop AA,KQ,JT --ip QQ,AK,98s {RANGES}",),
    "turn": (f"spot --board Qs9s4h7s --oop AA,KQ,JT --ip QQ,AK,98s {RANGES}",),
    "flop": (f"spot --board Qs9s4h --oop AA,KQ --ip QQ,AK {RANGES}",),
    "omaha": (f"spot --game omaha --board Qs9s4h7s2c --oop AAKK --ip QQJJ {RANGES}",),
    "play": ("play leduc --player 1",),
    "view": ("view leduc --iters 2 --html page.html",),
}
"""Commands that use all kernels of a feature, on small games."""


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of this program in a folder; it reads an end of input at once."""
    # Features are compiled side by side, so that helpers would find no idle core.  On these small
    # games, some kernels would run in Python.
    environment = os.environ | {HELPERS: "0", PYTHON_STEPS: "0"}
    if cache := environment.get("NUMBA_CACHE_DIR"):
        environment["NUMBA_CACHE_DIR"] = os.path.abspath(cache)
    return subprocess.run(
        [sys.executable, "-m", "tensorcfr.cli", *shlex.split(command)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )


@command()
def compile(features: list[str] | None = None) -> None:
    """Compile the kernels of features in advance, for images of containers and for servers.

    One feature per core is compiled at a time. Kernels are stored in the folder that
    NUMBA_CACHE_DIR names, or else in the package's __pycache__ if it can be written, or in the
    user's cache. Programs that read them need the same processor, package and versions.

    Options:
        features (FEATURE...): Any of {FEATURES}; by default all of them.
    """
    chosen = list(dict.fromkeys(features or FEATURES))
    if unknown := [feature for feature in chosen if feature not in FEATURES]:
        raise ValueError(f"compile: no feature {unknown[0]!r}; choose among {', '.join(FEATURES)}")
    with TemporaryDirectory() as folder:

        def compile_feature(feature: str) -> tuple[str, float, str]:
            began = time.monotonic()
            for k, command in enumerate(FEATURES[feature]):
                place = Path(folder) / f"{feature}{k}"
                place.mkdir()
                done = _run(command, place)
                if done.returncode:
                    problem = done.stderr.strip().rpartition("\n")[2]
                    return feature, 0.0, problem or f"exit status {done.returncode}"
            return feature, time.monotonic() - began, ""

        with ThreadPoolExecutor(available_cores()) as pool:
            for feature, seconds, error in pool.map(compile_feature, chosen):
                if error:
                    end(f"compile {feature}: {error}", FAILURE)
                typer.echo(f"{feature}: {seconds:.0f} s")
