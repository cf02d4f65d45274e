"""Infosets that share one strategy although their player reaches them in different ways."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .arrays import SequenceForm, infoset_layout, named_arrays

IMPERFECT_RECALL = (
    "A player forgets here (imperfect recall): CFR has no guarantee, averages may be worse than "
    "the iterates, and an equilibrium in behaviour strategies need not exist.  Best "
    "responses and the exploitability reported are of players who remember."
)


class StrategyClasses(NamedTuple):
    """Infosets that share strategies, each once."""

    form: SequenceForm
    """Sequence form of one level: each infoset directly follows the empty sequence.  The payoff
    operator is the game's and has no meaning here."""
    sequence: np.ndarray
    """int64 (sequences of the game,): sequence of :attr:`form` that has the probability of each."""

    def added(self, array: np.ndarray, player: slice) -> np.ndarray:
        """Add the numbers of sequences that share a probability.

        Args:
            array: float64 (sequences of the game,).
            player: The sequences of the game to add.

        Returns:
            float64 (sequences of :attr:`form`,).
        """
        return np.bincount(
            self.sequence[player], weights=array[player], minlength=self.form.n_sequences
        )


def strategy_class_form(form: SequenceForm, strategy_class: np.ndarray) -> StrategyClasses:
    """Return a form in which infosets that share a strategy occur once.

    Args:
        form: The game.
        strategy_class: uint32 (infosets,): for each infoset the first of the infosets that share
            its strategy.
    """
    first = np.flatnonzero(strategy_class == np.arange(form.n_infosets))
    player, actions = form.infoset_player[first], form.infoset_actions[first]
    # At level 0 every infoset follows the empty sequence.
    order, layout = infoset_layout(player, np.zeros_like(player), actions, form.n_players)
    number = np.empty(form.n_infosets, dtype=np.int64)
    number[first[order]] = np.arange(len(order))
    parent = layout["player_sequences"][player[order]].astype(np.uint32)
    tied = SequenceForm(**layout, infoset_parent=parent, operator=form.operator)
    sequence = form.map_sequences(tied, number[strategy_class])
    # The arrays of games are read-only, and kernels are compiled for that type of array.
    for array in (*dict(named_arrays(tied)).values(), sequence):
        array.flags.writeable = False
    return StrategyClasses(tied, sequence)
