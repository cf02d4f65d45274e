"""Policies of networks on rules, at visited and unvisited infosets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from ..algorithms import Deep
from ..model.infoset import Infoset
from ..model.policy import Policy
from ..uncompiled.infoset_table import NO_SEQUENCE
from ..uncompiled.lazy_histories import Node
from ..uncompiled.table_policy import TablePolicy
from ..uncompiled.uncompiled_game import UncompiledGame
from .deep_state import DeepState
from .learners import Learner, OneInfoset, make_learner, probabilities
from .network_infosets import RuleInfosets

MAX_REMEMBERED = 1 << 26
"""Maximum number of probabilities that are cached."""


class Fits(NamedTuple):
    """Fits that determine a player's strategy, and their weights."""

    fitted: np.ndarray
    """(fits, numbers): numbers from which each fit predicts; see
    :meth:`tensorcfr.deep.learners.Learner.fitted`."""
    weights: np.ndarray
    """float64 (fits,): weight of each fit."""


class NetworkPolicy(TablePolicy):
    """Behaviour strategy of networks: mapping of infoset label to action to probability.

    The mapping contains the visited infosets.  Called with an
    :class:`~tensorcfr.model.infoset.Infoset`, the policy also answers at unvisited infosets if
    features are hashed from labels and the strategy has a single network.  Called at a history,
    :meth:`at_history`, it answers everywhere.  :func:`tensorcfr.analysis.sampled_values` and
    :func:`tensorcfr.analysis.local_best_response` use histories.

    Args:
        game: The game.
        infosets: The visited infosets.
        make: Returns the learner and the fits of each player; called on first use.
        is_mixture: True if each play follows a single fit from beginning to end, drawn by weight.
            The probability of an action then depends on the player's earlier actions.
        unplayed: See :attr:`tensorcfr.algorithms.Deep.unplayed`.
    """

    def __init__(
        self,
        game: UncompiledGame,
        infosets: RuleInfosets,
        make: Callable[[], tuple[Learner, Sequence[Fits]]],
        *,
        is_mixture: bool,
        unplayed: str,
    ) -> None:
        self.game, self._table, self._size = game, infosets.table, len(infosets.table)
        self._infosets, self._make = infosets, make
        self._is_mixture, self._unplayed = is_mixture, unplayed
        self._remembered: dict[int | str, np.ndarray] = {}
        self._numbers = 0

    @cached_property
    def _learner_and_fits(self) -> tuple[Learner, Sequence[Fits]]:
        return self._make()

    @cached_property
    def probabilities(self) -> np.ndarray:  # type: ignore[override]
        """Strategies at all visited infosets, float64 (sequences,)."""
        strategies = np.concatenate([np.empty(0), *(self._at(row) for row in range(self._size))])
        strategies.flags.writeable = False
        return strategies

    def _at(self, row: int) -> list[float]:
        return _normalised(self._plays(row))

    def __call__(self, infoset: Infoset) -> list[float]:
        """Return the probabilities at an infoset of the game.

        Raises:
            ValueError: The table has other actions for the infoset, or the infoset is unvisited and
                its label does not determine the strategy; names it.
        """
        if self._row(infoset) is not None:
            return super().__call__(infoset)
        if self._infosets.features_of.needs_state or self._is_mixture:
            raise ValueError(
                f"no play of {self.game.name} reached infoset {str(infoset)!r}, whose label "
                "does not determine its strategy: query the policy at a history, as "
                "sampled_values and local_best_response do"
            )
        unvisited = self._network_input(infoset, infoset.player, infoset.actions)
        return _normalised(self._play_at(unvisited, infoset.player, None))

    def at_history(self, infoset: Infoset, node: Node) -> list[float]:
        """Return the probabilities at an infoset, visited or not.

        Args:
            infoset: The infoset.
            node: One of its histories; its ancestors must still store their game states.
        """
        if self._row(infoset) is not None:
            return super().__call__(infoset)
        return _normalised(self._plays_below(node))

    def _network_input(
        self, label: str, player: int, actions: Sequence[object], state: object = None
    ) -> OneInfoset:
        """Make the input of the networks for an unvisited infoset."""
        source = self._infosets.features_of
        output = np.array(source.outputs(label, actions), np.int32)
        return OneInfoset(source.of(player, label, state), output, -1)

    def _plays(self, row: int) -> np.ndarray:
        """Compute own reaches after each action of a visited infoset.

        Returns:
            float64 (fits, actions): weight times own reach of each fit if the policy is a mixture;
            otherwise weight times probability.
        """
        cached = self._remembered.get(row)
        if cached is not None:
            return cached
        table = self._table
        last_sequence, before = table.own[row], None
        if self._is_mixture and last_sequence != NO_SEQUENCE:
            parent = int(np.searchsorted(self._first, last_sequence, "right")) - 1
            before = self._plays(parent)[:, last_sequence - table.first[parent]]
        plays = self._play_at(self._infosets.at(row), table.player[row], before)
        return self._remember(row, plays)

    def _plays_below(self, node: Node) -> np.ndarray:
        """Compute the numbers of :meth:`_plays` at a history."""
        row = self._row(node.label)
        if row is not None:
            return self._plays(row)
        cached = self._remembered.get(node.label)
        if cached is not None:
            return cached
        # Find the player's last own action, whose reaches multiply the strategies at this history.
        before, ancestor = None, node
        while self._is_mixture and ancestor.parent is not None:
            ancestor, step = ancestor.parent, ancestor.index
            if ancestor.actor == node.actor:
                before = self._plays_below(ancestor)[:, step]
                break
        unvisited = self._network_input(node.label, node.actor, node.edges, node.state)
        return self._remember(node.label, self._play_at(unvisited, node.actor, before))

    def _play_at(self, infoset: OneInfoset, player: int, before: np.ndarray | None) -> np.ndarray:
        learner, fits = self._learner_and_fits
        fitted, weights = fits[player]
        before = weights if before is None else before
        predicted = learner.predict_at(fitted, infoset)
        is_action = np.ones(predicted.shape, bool)
        plays: np.ndarray = before[:, None] * probabilities(predicted, is_action, self._unplayed)
        return plays

    def _remember(self, key: int | str, plays: np.ndarray) -> np.ndarray:
        if self._numbers + plays.size > MAX_REMEMBERED:
            self._remembered.clear()
            self._numbers = 0
        self._numbers += plays.size
        self._remembered[key] = plays
        return plays

    @cached_property
    def _first(self) -> np.ndarray:
        return np.array(self._table.first, np.int64)


def _normalised(plays: np.ndarray) -> list[float]:
    """Sum own reaches over fits, and normalise them; uniform if all are 0.

    Args:
        plays: float64 (fits, actions).
    """
    sums = plays.sum(axis=0)
    total = sums.sum()
    shares = sums / total if total > 0.0 else np.full(len(sums), 1.0 / len(sums))
    strategy: list[float] = shares.tolist()
    return strategy


def policy_on_rules(
    game: UncompiledGame,
    record: Deep,
    state: DeepState,
    fits: Callable[[], tuple[Learner, Sequence[Fits]]] | Sequence[Fits],
    *,
    is_mixture: bool,
    unplayed: str | None = None,
) -> Policy:
    """Make the policy of a state on rules.

    It is typed as a policy of a compiled game, because both are read in the same way.

    Args:
        game: The game.
        record: The algorithm.
        state: The state.
        fits: Fits of each player; or a function that returns a learner and the fits.
        is_mixture: See :class:`NetworkPolicy`.
        unplayed: See :class:`NetworkPolicy`; by default the algorithm's option.
    """
    infosets = RuleInfosets(game, record, state._asdict())

    def make() -> tuple[Learner, Sequence[Fits]]:
        if callable(fits):
            return fits()
        return make_learner(record, infosets.inputs, 1.0), fits

    unplayed = record.unplayed if unplayed is None else unplayed
    policy = NetworkPolicy(game, infosets, make, is_mixture=is_mixture, unplayed=unplayed)
    return cast(Policy, policy)
