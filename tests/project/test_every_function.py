"""Every public function that returns numbers, in every layout of a game.

The registry is :mod:`support.every_function`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support import every_function as registry

FAST = ("merged", "merged, forced", "chunked")
"""Layouts of the fast tier: small ones, with merging, cutting and forced decisions."""
DEAR = ("strategy_chart", "infoset_chart", "exact_equilibrium")
"""Rows that the fast tier does without: pictures take seconds."""


@pytest.mark.parametrize(
    "layout",
    [
        pytest.param(layout, marks=() if layout in FAST else pytest.mark.full)
        for layout in registry.LAYOUTS
    ],
)
def test_numbers_are_those_of_the_flat_game(
    layout: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Each row equals the same numbers of the unmerged flat game, by label, or is refused."""
    if layout in FAST:
        request.getfixturevalue("interpreted")
    cases, wrong = registry.cases_of(layout, tmp_path), []
    for row in registry.ROWS:
        if layout in FAST and row in DEAR:
            continue
        try:
            registry.check(row, layout, cases)
        except Exception as error:
            error.add_note(f"{row} of {layout}")
            wrong.append(error)
    if wrong:
        raise ExceptionGroup(layout, wrong)


def test_every_public_name_is_in_a_row_or_has_a_reason() -> None:
    """A new public function fails here until somebody says what numbers it returns."""
    names = registry.public_names()
    rows = {row.partition(".")[0] for row in registry.ROWS}
    assert names - rows - set(registry.OTHER) == set()
    assert rows & set(registry.OTHER) == set()
    assert set(registry.OTHER) - names == set()
    assert rows - names == set()


def test_differences_are_found() -> None:
    """The comparison sees other keys, lengths, texts, numbers and unknown numbers."""
    wanted = {"K": [0.5, [float("nan"), "bet"]], "Q": (1.0, None)}
    assert not list(registry.differences(wanted, wanted))
    for wrong in (
        {"K": [0.5, [float("nan"), "bet"]]},
        {"K": [0.5, [float("nan")]], "Q": (1.0, None)},
        {"K": [0.5, [0.0, "bet"]], "Q": (1.0, None)},
        {"K": [0.5, [float("nan"), "pass"]], "Q": (1.0, None)},
        {"K": [0.5 + 1e-6, [float("nan"), "bet"]], "Q": (1.0, None)},
        {"K": [0.5, [float("nan"), "bet"]], "Q": (1.0, 1.0)},
    ):
        assert list(registry.differences(wrong, wanted))
