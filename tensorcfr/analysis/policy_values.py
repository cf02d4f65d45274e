"""Values of a policy: value, reach, regret and loss of every action and infoset."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from .._util.argument_checks import checked
from .._util.memory_budget import require
from ..evaluation import BestResponse, Evaluation, best_response
from ..evaluation.metrics import PolicyLike
from ..evaluation.profile import Actions, own_reach, profile_of
from ..formats.policies import find_policy
from ..model.arrays import TERMINAL
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.game_arguments import Compiled, Flat
from ..model.infoset_rows import InfosetRows
from ..model.layout import Layout
from ..model.policy import Policy
from ..model.public_nodes import PublicNodes
from ..model.sequence_table import Piece, SequenceTable
from .counterfactual_reach import CounterfactualReach, bytes_needed


class ValueRows(NamedTuple):
    """Values of the actions at some infosets of one player."""

    infosets: InfosetRows
    own_reach: np.ndarray
    """float64 (infosets,): the probability with which the player's own actions lead there."""
    counterfactual_reach: np.ndarray
    """float64 (infosets,): the probability with which chance and the other players lead there."""
    probability: np.ndarray
    """float64 (infosets, actions): the strategy."""
    counterfactual: np.ndarray
    """float64 (infosets, actions): the counterfactual value of every action, which is its expected
    value times ``counterfactual_reach``."""
    best: np.ndarray
    """float64 (infosets, actions): the counterfactual value if the player continues with a best
    response."""

    @property
    def reach(self) -> np.ndarray:
        """float64 (infosets,): the probability with which the infoset is reached."""
        return self.own_reach * self.counterfactual_reach

    @property
    def mean(self) -> np.ndarray:
        """float64 (infosets,): the counterfactual value of the infoset."""
        mean_value: np.ndarray = (self.probability * self.counterfactual).sum(axis=1)
        return mean_value

    @property
    def regret(self) -> np.ndarray:
        """float64 (infosets, actions): the counterfactual value of the action minus the
        infoset's."""
        return self.counterfactual - self.mean[:, None]

    @property
    def expected(self) -> np.ndarray:
        """float64 (infosets, actions): the expected value of every action given that its infoset is
        reached; NaN if chance and the others never lead there."""
        others = self.counterfactual_reach[:, None]
        return np.divide(
            self.counterfactual,
            others,
            out=np.full_like(self.counterfactual, np.nan),
            where=others > 0,
        )

    @property
    def infoset_expected(self) -> np.ndarray:
        """float64 (infosets,): the expected value of the infoset; NaN if chance and the others
        never lead there."""
        expected: np.ndarray = (self.probability * self.expected).sum(axis=1)
        return expected

    @property
    def loss(self) -> np.ndarray:
        """float64 (infosets,): the loss at the infoset against a best response.

        It is the best action's value minus the policy's, if the player continues with a best
        response, times the own reach. Over a player's infosets the losses sum to the gain of the
        best response, so they show the origin of the exploitability.
        """
        losses: np.ndarray = self.own_reach * (
            self.best.max(axis=1) - (self.probability * self.best).sum(axis=1)
        )
        return losses

    @property
    def conditional_regret(self) -> np.ndarray:
        """float64 (infosets,): the gain of a best response from the infoset on, given that the
        infoset is reached; NaN if chance and the others never lead there."""
        gain, others = self.best.max(axis=1) - self.mean, self.counterfactual_reach
        return np.divide(gain, others, out=np.full_like(gain, np.nan), where=others > 0)

    def select(self, which: np.ndarray) -> ValueRows:
        """Select infosets by a mask, bool (infosets,), or by row numbers."""
        indices = np.arange(len(self.own_reach))[which]
        return ValueRows(self.infosets.select(indices), *(array[indices] for array in self[1:]))


class HandValues(NamedTuple):
    """Values of the actions of a hand at a public node, if the policy is followed afterwards."""

    actions: tuple[str, ...]
    """Labels of the actions."""
    probability: np.ndarray
    """float64 (actions,): the strategy."""
    expected: np.ndarray
    """float64 (actions,): expected value of each action."""

    @property
    def best(self) -> str:
        """Action with the largest value."""
        return self.actions[int(self.expected.argmax())]

    def loss(self, action: str) -> float:
        """Return the value of the best action minus that of an action."""
        return float(self.expected.max() - self.expected[self.actions.index(action)])


class Exactness(NamedTuple):
    """Exactness of a policy from a public node on."""

    gains: tuple[float, ...]
    """Gain of each player's best response from there on, given that the policy gets there; NaN if
    it never does."""
    raised: tuple[float, ...]
    """Bound on the increase of each player's best-response value to the whole policy.

    The value can increase because the strategies of this part of the game were forgotten and solved
    again. It is 0 for policies that forget nothing. The bounds of several parts add up.
    """

    @property
    def exploitability(self) -> float:
        """Mean of :attr:`gains`."""
        return sum(self.gains) / len(self.gains)


class Values:
    """Values of a policy at every infoset, if all players play it.

    Values are utilities of the player who acts, in the game's own unit. In a game in chunks, the
    values of a chunk are computed when they are read.

    Args:
        policy: The policy.
    """

    def __init__(self, policy: Policy) -> None:
        self.game: CompiledGame = policy.game
        """The game."""
        self.policy = policy
        """The policy."""
        self._profile = profile_of(policy)

    def __repr__(self) -> str:
        return f"<Values of {self.game.name}: {self.evaluation}>"

    @property
    def evaluation(self) -> Evaluation:
        """Value and best-response value of each player; best responses ignore locks."""
        profile, unit = self._profile, self.game.unit
        player_values, best = (
            [unit * value for value in values]
            for values in (profile.values, profile.best_responses)
        )
        return Evaluation(tuple(player_values), tuple(best))

    def at(self, numbers: np.ndarray) -> Actions:
        """Return strategies and values at some numbers of the game, all in one chunk or in the
        trunk."""
        actions, unit = self._profile.at(numbers), self.game.unit
        return actions._replace(value=actions.value * unit, best=actions.best * unit)

    def rows(self, player: int) -> Iterator[ValueRows]:
        """Yield the infosets of a player, in the order of :meth:`CompiledGame.rows`."""
        return map(self.at_node, self.nodes.deciding(player))

    def of(self, infosets: InfosetRows) -> ValueRows:
        """Return the values at some infosets, all of one public node if the game is in chunks."""
        position = self.nodes.find(infosets.labels[0])
        assert position is not None
        rows = self.at_node(position.node)
        row_of_label = {label: row for row, label in enumerate(rows.infosets.labels)}
        return rows.select(np.array([row_of_label[label] for label in infosets.labels]))

    def at_node(self, node: int) -> ValueRows:
        """Return the values at the infosets of a public node."""
        nodes, player = self.nodes, self.nodes.player(node)
        hands = np.flatnonzero(nodes.possible(node, player))
        infosets, own_reaches = nodes.rows(node, hands), self.own_reaches(node)
        # The numbers of merged infosets are sums over that many infosets.
        multiplicity = infosets.multiplicity
        reaches = (
            own_reaches[player][hands],
            nodes.counterfactual_reach(node, player, own_reaches)[hands],
        )
        if nodes.layout(node).stride:
            strategy, _, value, best = self.at(infosets.numbers)
            return ValueRows(
                infosets,
                *reaches,
                strategy,
                value / multiplicity[:, None],
                best / multiplicity[:, None],
            )
        # A decision with one action, which a game in chunks leaves out.
        node_value, best = self.counterfactual_values(node, player, own_reaches)[:, hands, None]
        return ValueRows(infosets, *reaches, np.ones_like(node_value), node_value, best)

    def of_hand(self, node: int, hand: int) -> HandValues | None:
        """Return the values of a hand of the player who acts at a public node; None if the hand
        cannot be there.  Values are NaN if chance and the others never lead there.

        Args:
            node: The public node.
            hand: Number of the hand.
        """
        possible = np.flatnonzero(self.nodes.possible(node, self.nodes.player(node)))
        row = int(np.searchsorted(possible, hand))
        if row == len(possible) or possible[row] != hand:
            return None
        rows = self.at_node(node)
        actions = tuple(edge.label for edge in self.nodes.children(node))
        return HandValues(actions, rows.probability[row], rows.expected[row])

    def own_reaches(self, node: int) -> list[np.ndarray]:
        """Return for each player the own reach of a public node with every hand, float64
        (hands,)."""
        return [
            own_reach(self.nodes, self.at, node, player) for player in range(self.game.n_players)
        ]

    def of_players(self, node: int) -> list[np.ndarray]:
        """Return for each player the expected value of a public node with every hand, float64
        (hands,).

        Any player or chance may act there. NaN for hands with which chance and the others never
        lead there.
        """
        own_reaches, expected = self.own_reaches(node), []
        for player in range(self.game.n_players):
            others = self.nodes.counterfactual_reach(node, player, own_reaches)
            node_value, _ = self.counterfactual_values(node, player, own_reaches)
            unknown = np.full_like(others, np.nan)
            expected.append(np.divide(node_value, others, out=unknown, where=others > 0))
        return expected

    @property
    def nodes(self) -> PublicNodes:
        """Public nodes of the game.

        Raises:
            ValueError: The game has no public nodes.
        """
        if (nodes := self.game.nodes) is None:
            raise ValueError(f"{self.game.name} is not a game of private hands and a public tree")
        return nodes

    def counterfactual_values(
        self, node: int, player: int, own_reaches: list[np.ndarray]
    ) -> np.ndarray:
        """Return the counterfactual values of a public node for each hand of a player.

        Any player or chance may act there. The values are added up from the terminals and the
        player's next decisions after the node.

        Args:
            node: The public node.
            player: The player.
            own_reaches: For each player float64 (hands,): their own reach of the node.

        Returns:
            float64 (2, hands): the values under the policy, and under the player's best response
            from there on.
        """
        nodes, actor = self.nodes, self.nodes.player(node)
        if actor == TERMINAL:
            paid = nodes.payoffs(node, player, own_reaches)
            return np.stack([paid, paid])
        if actor == player and (layout := nodes.layout(node)).stride:
            action_values = self.at(layout.numbers(np.arange(len(layout.lane))))
            infoset_values = np.stack(
                [
                    (action_values.strategy * action_values.value).sum(axis=1),
                    action_values.best.max(axis=1),
                ]
            )
            return np.where(layout.lane >= 0, infoset_values / layout.multiplicity, 0.0)
        total = np.zeros((2, len(nodes.hands[player])))
        for step in nodes.children(node):
            reaches = list(own_reaches)
            if actor >= 0:
                reaches[actor] = own_reach(nodes, self.at, step.node, actor)
            # Counterfactual values include the reach of chance and the others, so children add up.
            total += self.counterfactual_values(step.node, player, reaches)
        return total

    def exactness(self, node: int) -> Exactness:
        """Return the exactness of the policy from a decision on."""
        own_reaches, gains = self.own_reaches(node), []
        for player, player_reach in enumerate(own_reaches):
            node_value, best = self.counterfactual_values(node, player, own_reaches)
            reached = float(
                player_reach @ self.nodes.counterfactual_reach(node, player, own_reaches)
            )
            gains.append(
                float(player_reach @ (best - node_value)) / reached if reached > 0.0 else math.nan
            )
        chunk = self.nodes.layout(node).chunk
        raised = self._profile.raised(chunk) if chunk >= 0 else (0.0,) * len(own_reaches)
        return Exactness(tuple(gains), raised)

    def worst(self, count: int = 10) -> list[tuple[str, float]]:
        """Return the labels and losses of the infosets with the largest :attr:`ValueRows.loss`."""
        losses = (
            (label, loss)
            for rows in self.all_rows()
            for label, loss in zip(rows.infosets.labels, rows.loss.tolist(), strict=True)
        )
        return heapq.nlargest(count, losses, key=lambda pair: pair[1])

    def table(self) -> SequenceTable:
        """Return the table of all values by label.

        Its columns are ``probability``, ``reach`` (of the infoset), ``others_reach``,
        ``expected_value``, ``counterfactual_value`` and ``regret``; and, of the infoset, ``loss``
        and ``conditional_regret``.
        """
        return SequenceTable(self.game, tuple(COLUMNS), self._pieces, self.policy.n_probabilities)

    def all_rows(self) -> Iterator[ValueRows]:
        """Yield the infosets of all players, one player after the other."""
        return chain.from_iterable(map(self.rows, range(self.game.n_players)))

    def _pieces(self) -> Iterator[Piece]:
        for rows in self.all_rows():
            shape = rows.probability.shape
            columns = [getattr(rows, attribute) for attribute in COLUMNS.values()]
            spread = [np.broadcast_to(c if c.ndim == 2 else c[:, None], shape) for c in columns]
            yield Piece(rows.infosets.player, rows.infosets.labels, rows.infosets.actions, spread)


COLUMNS = {
    "probability": "probability",
    "reach": "reach",
    "others_reach": "counterfactual_reach",
    "expected_value": "expected",
    "counterfactual_value": "counterfactual",
    "regret": "regret",
    "loss": "loss",
    "conditional_regret": "conditional_regret",
}
"""Columns of a table of values, and the attributes of :class:`ValueRows` that they show."""


class FlatValues(Values):
    """Values of a policy of a flat game, also as arrays over the whole game.

    Args:
        policy: The policy.

    Raises:
        MemoryLimitError: There is not enough free memory.
    """

    game: FlatGame

    def __init__(self, policy: Policy) -> None:
        game: FlatGame = policy.game
        require(_bytes_needed(game), f"the values of a policy of {game.name}")
        super().__init__(policy)
        _, self.sequence_reach, value, best = self._profile.of_part(0)
        self.counterfactual = value * game.unit
        """float64 (sequences,): counterfactual values as in :class:`ValueRows`; empty sequences
        have the game's value."""
        self.best = best * game.unit
        """float64 (sequences,): best-response values as in :class:`ValueRows`; empty sequences have
        the best-response value of the game."""
        self.own_reach = self.sequence_reach[game.form.infoset_parent]
        """float64 (infosets,): own reach as in :class:`ValueRows`."""
        self.counterfactual_reach = CounterfactualReach(game).everywhere(self.sequence_reach)
        """float64 (infosets,): others' reach as in :class:`ValueRows`."""
        self._infoset_of = game.form.owners[0]

    def rows(self, player: int) -> Iterator[ValueRows]:
        """Yield the infosets of a player, in their order."""
        return map(self.of, self.game.rows(player))

    def of(self, infosets: InfosetRows) -> ValueRows:  # noqa: D102
        indices, actions = self._infoset_of[infosets.numbers[:, 0]], self.at(infosets.numbers)
        own_reach, reach = self.own_reach[indices], self.counterfactual_reach[indices]
        return ValueRows(infosets, own_reach, reach, actions.strategy, actions.value, actions.best)

    @cached_property
    def regret(self) -> np.ndarray:
        """float64 (sequences,): :attr:`ValueRows.regret`; 0 for empty sequences."""
        return self._by_sequence("regret")

    @cached_property
    def expected(self) -> np.ndarray:
        """float64 (sequences,): :attr:`ValueRows.expected`; 0 for empty sequences."""
        return self._by_sequence("expected")

    @cached_property
    def reach(self) -> np.ndarray:
        """float64 (infosets,): :attr:`ValueRows.reach`."""
        return self._by_infoset("reach")

    @cached_property
    def infoset_expected(self) -> np.ndarray:
        """float64 (infosets,): :attr:`ValueRows.infoset_expected`."""
        return self._by_infoset("infoset_expected")

    @cached_property
    def loss(self) -> np.ndarray:
        """float64 (infosets,): :attr:`ValueRows.loss`."""
        return self._by_infoset("loss")

    def _by_sequence(self, column: str) -> np.ndarray:
        numbers = np.zeros(self.game.n_sequences)
        for rows in self.all_rows():
            numbers[rows.infosets.numbers] = getattr(rows, column)
        return numbers

    def _by_infoset(self, column: str) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(getattr(rows, column) for rows in self.all_rows())])


@checked()
def values(game: Compiled, policy: PolicyLike) -> Values:
    """Compute the values of every action if all players play a policy; takes as long as some
    iterations.

    >>> from tensorcfr import Policy, compile_game
    >>> game = compile_game("kuhn")
    >>> table = values(game, Policy.uniform(game)).table().to_dict()
    >>> table["K"]["bet"]["expected_value"]  # The other calls half of the time: (1 + 2) / 2.
    1.5

    Args:
        game: The game.
        policy: The policy, in any form that :func:`tensorcfr.formats.find_policy` reads.

    Returns:
        The values; :class:`FlatValues`, which also has arrays over the whole game, if the game
        is flat.

    Raises:
        ValueError: The policy is not for this game.
        MemoryLimitError: There is not enough free memory.
    """
    profile = find_policy(game, policy)
    return Values(profile) if game.layout == Layout.CHUNKS else FlatValues(profile)


def _bytes_needed(game: FlatGame) -> int:
    """Return the number of bytes that :class:`FlatValues` takes.

    It holds reaches, values and best values of sequences, two reaches of infosets, and an
    :class:`CounterfactualReach`.
    """
    return 24 * game.n_sequences + 16 * game.n_infosets + bytes_needed(game)


@checked()
def best_responses(game: Flat, policy: PolicyLike) -> tuple[BestResponse, ...]:
    """Compute each player's best response to the others' strategies, a policy with its value."""
    policy = find_policy(game, policy)
    return tuple(best_response(game, policy, player) for player in range(game.n_players))
