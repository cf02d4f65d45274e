"""What every test shares: the three tiers, how many examples a property gets, fixtures.

* ``pytest -m fast``: what ``.ci/run`` runs at every landing; minutes.
* ``pytest -m full``: in the workflow for every pull request; ``.ci/run`` runs a slice of it
  (``--slice 3/20``), another one at each commit.
* ``pytest -m slow --examples 10``: at night.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest
from hypothesis import Phase, settings

from tensorcfr import ALGORITHMS

pytest.register_assert_rewrite("support")

# For whoever asks only whether a test fails (scripts/wrong_programs.py).
settings.register_profile(
    "verdict", derandomize=True, phases=[Phase.explicit, Phase.generate], database=None
)

TESTS = Path(__file__).parent
FAST_EXAMPLES = 0.2
"""Share of a property's examples that the fast tier tries."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--examples",
        type=float,
        metavar="FACTOR",
        help="multiply the number of random examples of every property (1; 0.2 with -m fast)",
    )
    parser.addoption("--slice", metavar="K/N", help="run the K-th of N disjoint parts of the tests")


def pytest_configure(config: pytest.Config) -> None:
    """Before any test module is imported: how many examples their properties try; and Ctrl-C is
    heard, which a shell turns off in what it starts in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Tests run side by side: helpers would find no idle core.
    os.environ.setdefault("TENSORCFR_HELPERS", "0")
    os.environ.setdefault("TENSORCFR_PYTHON_STEPS", "0")
    from support import properties, tracing

    tracing.compile_untraced()
    factor = config.getoption("--examples")
    if factor is None:
        factor = FAST_EXAMPLES if config.option.markexpr.startswith("fast") else 1.0
    properties.FACTOR = factor


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays to the end: to look for garbage in it takes a seventh of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Coverage looks away while a test shows it nothing new."""
    from support.tracing import traced_at_first

    with traced_at_first(item.nodeid.partition("[")[0]):
        return (yield)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Only files whose tests may be selected are imported: all of them take ten seconds."""
    from support.tiers import is_left_out

    if collection_path.suffix != ".py" or not collection_path.is_relative_to(TESTS):
        return None
    path = collection_path.relative_to(TESTS).as_posix()
    return True if is_left_out(path, config.option.markexpr) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests are fast unless marked; with the JIT off, some would take too long."""
    from support.tiers import in_slice, repeats_of

    if place := config.getoption("--slice"):
        left_out = [item for item in items if not in_slice(item.nodeid, place)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if in_slice(item.nodeid, place)]
    skip = pytest.mark.skip(reason="takes too long with the JIT off")
    for item in items:
        if not any(item.get_closest_marker(tier) for tier in ("full", "slow")):
            item.add_marker("fast")
        if item.path.is_relative_to(TESTS):
            for marker in repeats_of(item.path.relative_to(TESTS).as_posix()):
                item.add_marker(marker)
        if numba.config.DISABLE_JIT and item.get_closest_marker("compiled"):
            item.add_marker(skip)


@pytest.fixture
def registry() -> Iterator[None]:
    """Leave the table of algorithms as it was."""
    before = dict(ALGORITHMS)
    yield
    ALGORITHMS.clear()
    ALGORITHMS.update(before)


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run kernels as Python: on small games that takes less time than compiling a rule."""
    from support.interpreted import interpret

    interpret(monkeypatch)
