"""What every test shares: the three tiers, how many examples a property gets, fixtures.

* ``pytest -m fast``: what ``.ci/run`` runs; minutes.
* ``pytest -m 'not slow'``: the full tier, on every machine of the workflow.
* ``pytest -m slow --examples 10``: at night.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import numba
import pytest
from hypothesis import Phase, settings

from tensorcfr import ALGORITHMS

pytest.register_assert_rewrite("support")

# For whoever asks only whether a test fails (scripts/wrong_programs.py).
settings.register_profile(
    "verdict", derandomize=True, phases=[Phase.explicit, Phase.generate], database=None
)

FAST_EXAMPLES = 0.2
"""Share of a property's examples that the fast tier tries."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--examples",
        type=float,
        metavar="FACTOR",
        help="multiply the number of random examples of every property (1; 0.2 with -m fast)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Before any test module is imported: how many examples their properties try; and Ctrl-C is
    heard, which a shell turns off in what it starts in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    from support import properties

    factor = config.getoption("--examples")
    if factor is None:
        factor = FAST_EXAMPLES if config.option.markexpr.startswith("fast") else 1.0
    properties.FACTOR = factor


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests are fast unless marked; with the JIT off, some would take too long."""
    skip = pytest.mark.skip(reason="takes too long with the JIT off")
    for item in items:
        if not any(item.get_closest_marker(tier) for tier in ("full", "slow")):
            item.add_marker("fast")
        if numba.config.DISABLE_JIT and item.get_closest_marker("compiled"):
            item.add_marker(skip)


@pytest.fixture
def registry() -> Iterator[None]:
    """Leave the table of algorithms as it was."""
    before = dict(ALGORITHMS)
    yield
    ALGORITHMS.clear()
    ALGORITHMS.update(before)
