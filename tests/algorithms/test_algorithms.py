"""Algorithms are data: records that can be changed, compared, written down and read back."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from tensorcfr import ALGORITHMS, Algorithm, LocalRule
from tensorcfr.algorithms import (
    CFR,
    CFR_D,
    CFR_PLUS,
    DCFR,
    EXTERNAL_SAMPLING,
    LCFR,
    LP,
    find_algorithm,
    from_dict,
)
from tensorcfr.errors import OldFileError


def test_a_record_is_called_to_change_it() -> None:
    changed = DCFR(alpha=2, alternating=False, delay=3)
    assert changed.parameters == {"alpha": 2.0, "beta": 0.0}
    assert (changed.alternating, changed.delay, changed.average_power) == (False, 3, 2.0)
    assert DCFR.parameters == {"alpha": 1.5, "beta": 0.0}
    assert DCFR() == DCFR


def test_records_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        CFR.alternating = False  # type: ignore[misc]
    with pytest.raises(TypeError):
        DCFR.parameters["alpha"] = 3.0  # type: ignore[index]


def test_defaults_are_those_of_the_papers() -> None:
    assert (CFR.average_power, CFR_PLUS.average_power, LCFR.average_power) == (0, 1, 1)
    assert (DCFR.parameters["alpha"], DCFR.parameters["beta"], DCFR.average_power) == (1.5, 0, 2)
    assert all(record.alternating for record in (CFR, CFR_PLUS, LCFR, DCFR))
    assert all(record.source for record in ALGORITHMS.values())


@pytest.mark.parametrize(
    "name", [name for name, record in ALGORITHMS.items() if isinstance(record, Algorithm)]
)
def test_round_trip_through_plain_values(name: str) -> None:
    record = ALGORITHMS[name]
    assert isinstance(record, Algorithm)
    changed = record(alternating=False, delay=2, average_power=3)
    assert from_dict(changed.to_dict()) == changed


def test_records_of_files_that_played_against_averages_are_refused() -> None:
    """Up to 0.16.0, ``against="average"`` was an option; with it, another game was played."""
    assert from_dict({**CFR.to_dict(), "against": "current"}) == CFR
    with pytest.raises(OldFileError, match=r"against='average'.*load it with tensorcfr 0\.16\.0"):
        from_dict({**CFR.to_dict(), "against": "average"})
    # The variant of another record is a record of its own.
    for record in (EXTERNAL_SAMPLING, CFR_D):
        values = record.to_dict()
        old = {**values, "variant": {**values["variant"], "against": "current"}}
        assert from_dict(record.updated(old)) == record
        assert record.updated(old) == values
        old["variant"]["against"] = "average"
        with pytest.raises(OldFileError, match="against='average'"):
            record.updated(old)


def test_weights_of_iterations() -> None:
    t = np.array([3.0, 4.0, 5.0])
    np.testing.assert_array_equal(CFR_PLUS.weights(t), t)
    np.testing.assert_array_equal(CFR(delay=3).weights(t), [0, 1, 1])


def test_names() -> None:
    assert find_algorithm("cfr+") is CFR_PLUS
    assert find_algorithm("lp") is LP
    with pytest.raises(ValueError, match="no algorithm 'cfrplus'; did you mean"):
        find_algorithm("cfrplus")


def test_schedule() -> None:
    np.testing.assert_array_equal(CFR.schedule(1, 3), [[1], [1], [1]])
    np.testing.assert_array_equal(CFR_PLUS.schedule(4, 2), [[4], [5]])
    np.testing.assert_array_equal(CFR_PLUS(delay=4).schedule(4, 2), [[0], [1]])
    np.testing.assert_array_equal(CFR(delay=1).schedule(1, 2), [[0], [1]])
    # Iteration t discounts by ((t-1)^a / ((t-1)^a + 1)); at the first there is nothing yet.
    power = 2.0**1.5
    np.testing.assert_allclose(DCFR.schedule(3, 1), [[9.0, power / (power + 1), 0.5]])
    np.testing.assert_array_equal(LCFR.schedule(2, 1), [[2.0, 2.0]])
    assert DCFR.schedule(1, 0).shape == (0, 3)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"alfa": 1}, TypeError, "dcfr has no option 'alfa'; did you mean 'alpha'"),
        ({"delay": -1}, ValueError, "delay must be a whole number >= 0, not -1"),
        ({"delay": 0.5}, ValueError, "delay must be a whole number >= 0, not 0.5"),
        ({"average_power": -1}, ValueError, "average_power must be a number >= 0, not -1"),
        ({"alpha": float("nan")}, ValueError, "alpha must be a number, not nan"),
        ({"restart_base": -3}, ValueError, "restart_base must be a whole number >= 0, not -3"),
        ({"alternating": "no"}, ValueError, "alternating must be True or False, not 'no'"),
        ({"delay": None}, ValueError, "delay must be a whole number >= 0, not None"),
    ],
)
def test_bad_changes(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        DCFR(**changes)


def test_parameters_must_be_those_of_the_rule() -> None:
    with pytest.raises(ValueError, match=r"takes the parameters \[\], not \['x'\]"):
        Algorithm("mine", CFR.rule, "", "", parameters={"x": 1})


SCALE = 2.0


def _helper(x: float) -> float:
    return x * SCALE


def test_rules_with_equal_meaning_share_compiled_code() -> None:
    def one(regret, instant, parameters):  # type: ignore[no-untyped-def]
        return _helper(regret + instant), 0.0

    def same(regret, instant, parameters):  # type: ignore[no-untyped-def]
        return _helper(regret + instant), 0.0

    def other(regret, instant, parameters):  # type: ignore[no-untyped-def]
        return _helper(regret - instant), 0.0

    first = LocalRule("a", one)
    assert first.digest == LocalRule("b", same).digest
    assert first.digest != LocalRule("a", other).digest


def test_a_helper_that_changes_is_another_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code is found by what a rule computes: a stale helper must not be found."""

    def step(regret, instant, parameters):  # type: ignore[no-untyped-def]
        return _helper(regret + instant), 0.0

    before = LocalRule("a", step).digest
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert LocalRule("a", step).digest != before


def test_offsets_of_dcfr() -> None:
    """They replace the 1 of each discount; one that is 1 is left out."""
    row = DCFR(alpha=1.5, alpha_offset=2, beta=1, beta_offset=20).schedule(5, 1)[0]
    assert row[1] == pytest.approx(4**1.5 / (4**1.5 + 2), rel=1e-15)
    assert row[2] == pytest.approx(4 / (4 + 20), rel=1e-15)
    assert DCFR(alpha_offset=1) == DCFR
    with pytest.raises(ValueError, match="dcfr: beta_offset must be"):
        DCFR(beta_offset=-1)
