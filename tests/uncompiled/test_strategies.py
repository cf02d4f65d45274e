"""Policies in any form, asked at histories of the rules."""

from __future__ import annotations

from typing import Any

import pytest

from tensorcfr.model.arrays import CHANCE
from tensorcfr.uncompiled import UncompiledGame
from tensorcfr.uncompiled.history_strategies import strategy_of
from tensorcfr.uncompiled.infoset_table import InfosetTable
from tensorcfr.uncompiled.lazy_histories import Histories


class ByNumber:
    """A policy of OpenSpiel that plays actions in proportion to their numbers, from 1 on."""

    def action_probabilities(self, state: Any) -> dict[int, float]:
        legal = state.legal_actions()
        return {action: (action + 1) / (sum(legal) + len(legal)) for action in legal}


@pytest.mark.openspiel
def test_policies_of_openspiel_are_asked_by_the_numbers_of_actions() -> None:
    """In Leduc of OpenSpiel nobody can fold (0) where nobody has raised: 1 and 2 are left."""
    pytest.importorskip("pyspiel")
    histories = Histories(UncompiledGame("openspiel:leduc_poker"), InfosetTable(groups=0))
    strategy = strategy_of(histories, ByNumber())
    node = histories.root
    while node.actor == CHANCE:
        node = node.children[0] or histories.step(node, 0)
    assert strategy(node) == pytest.approx([2 / 5, 3 / 5])
    assert strategy(histories.step(node, 1)) == pytest.approx([1 / 6, 2 / 6, 3 / 6])
