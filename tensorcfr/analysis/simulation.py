"""Plays of a game, drawn from a policy, with a log of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from .._util.argument_checks import EXACT, Whole, checked
from ..evaluation.metrics import PolicyLike
from ..evaluation.profile import strategies_at
from ..formats.policies import find_policy
from ..model.arrays import CHANCE
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.game_arguments import Compiled, require_flat
from ..model.policy import Policy
from ..model.public_nodes import PublicNodes
from ..model.team_game import step_probabilities
from .history_values import step_label


@dataclass(frozen=True, eq=False)
class Plays:
    """Plays of a game."""

    game: CompiledGame
    """The game."""
    utilities: np.ndarray
    """float64 (plays, players): the payoffs of each play."""
    nodes: np.ndarray
    """int64 (plays, steps + 1): the nodes of each play from the root on, of ``game.histories`` or
    else of ``game.nodes``; -1 after its end."""
    hands: np.ndarray | None
    """int64 (plays, players): the dealt hands if nodes are public, else None."""

    def __repr__(self) -> str:
        return f"<Plays of {self.game.name}: {len(self):,}>"

    def __len__(self) -> int:
        return len(self.utilities)

    @property
    def mean(self) -> np.ndarray:
        """float64 (players,): the mean utility."""
        return self.utilities.mean(axis=0)

    @property
    def standard_error(self) -> np.ndarray:
        """float64 (players,): the standard error of the mean; NaN for a single play."""
        if len(self) < 2:
            return np.full(self.game.n_players, np.nan)
        return self.utilities.std(axis=0, ddof=1) / np.sqrt(len(self))

    def steps(self, play: int) -> list[str]:
        """List the steps of a play: ``["chance: J", "player 0 at J: bet", ...]``.

        Raises:
            IndexError: There is no such play.
        """
        path = [node for node in self.nodes[play].tolist() if node >= 0]
        hands, lines = [] if self.hands is None else self.hands[play].tolist(), []
        if self.game.nodes is not None:
            names = zip(self.game.nodes.hands, hands, strict=False)
            lines = [
                f"chance: {labels[hand]} to player {seat}"
                for seat, (labels, hand) in enumerate(names)
            ]
        for parent, node in pairwise(path):
            player, label, step = self._step(parent, node, hands)
            lines.append(f"player {player} at {label}: {step}" if label else f"chance: {step}")
        return lines

    def counts(self, player: int) -> dict[str, dict[str, int]]:
        """Count how often a player took each action, by infoset label and action label.

        Actions that they never took are left out.
        """
        action_counts: dict[str, dict[str, int]] = {}
        hands = np.zeros((len(self), 0), dtype=np.int64) if self.hands is None else self.hands
        for parents, nodes in pairwise(self.nodes.T):
            taken = np.column_stack([parents, nodes, hands])[nodes >= 0]
            rows, times = np.unique(taken, axis=0, return_counts=True)
            for (before, after, *held), count in zip(rows.tolist(), times.tolist(), strict=True):
                actor, label, step = self._step(before, after, held)
                if actor == player:
                    row = action_counts.setdefault(label, {})
                    row[step] = row.get(step, 0) + count
        return action_counts

    def _step(self, parent: int, node: int, hands: list[int]) -> tuple[int, str, str]:
        """Return player, infoset label (empty for chance) and label of a step."""
        nodes = self.game.nodes
        if self.hands is None or nodes is None:
            game = require_flat(self.game, "a history")
            player, step = int(game.tree.player[parent]), step_label(game, node)
            infoset = int(game.tree.infoset[parent])
            return player, game.infoset_labels[infoset] if player >= 0 else "", step
        player = nodes.player(parent)
        step = next(step.label for step in nodes.children(parent) if step.node == node)
        return player, nodes.labels(parent, [hands[player]])[0] if player >= 0 else "", step

    def log(self) -> Iterator[str]:
        """Yield one line for every play: its steps and its payoffs."""
        for play in range(len(self)):
            paid = ", ".join(f"{utility + 0.0:+g}" for utility in self.utilities[play].tolist())
            yield f"{'; '.join(self.steps(play))} -> {paid}"


@checked()
def simulate(
    game: Compiled,
    policy: PolicyLike,
    n: Annotated[int, Whole(1, EXACT)],
    seed: Annotated[int, Whole(0)] = 0,
) -> Plays:
    """Draw plays of a game.

    >>> from tensorcfr import Policy, compile_game
    >>> game = compile_game("kuhn")
    >>> len(simulate(game, Policy.uniform(game), 1000))
    1000

    Args:
        game: The game. A game of private hands of any size is played on its public nodes.
        policy: All players' strategies, in any form that :func:`tensorcfr.formats.find_policy`
            reads; in a game in chunks they are computed where plays go.
        n: Number of plays.
        seed: The same seed gives the same plays.

    Raises:
        ValueError: The policy is not for this game, or ``n`` is not a positive integer.
    """
    profile, rng = find_policy(game, policy), np.random.default_rng(seed)
    if game.nodes is None or game.by_histories:
        return _by_histories(require_flat(game, "drawing histories"), profile, rng, n)
    return _by_hands(game, game.nodes, profile, rng, n)


def _by_histories(game: FlatGame, policy: Policy, rng: np.random.Generator, n: int) -> Plays:
    """Draw plays on the history tree."""
    tree = game.tree
    probabilities, first_child = step_probabilities(game, policy.probabilities), tree.first_child
    first_child = first_child.astype(np.int64)
    node = np.zeros(n, dtype=np.int64)
    path = [node]
    while True:
        unfinished = np.flatnonzero(first_child[node + 1] > first_child[node])
        if not len(unfinished):
            break
        begin = first_child[node[unfinished]]
        children = first_child[node[unfinished] + 1] - begin
        # One row per play that goes on; columns beyond the children of its node stay 0.
        table = np.zeros((len(unfinished), int(children.max())))
        for child in range(table.shape[1]):
            rows = np.flatnonzero(child < children)
            table[rows, child] = probabilities[begin[rows] + child]
        node = node.copy()
        node[unfinished] = begin + _draw_steps(rng, table)
        path.append(node)
    terminal = np.full(tree.n_nodes, -1)
    terminal[tree.terminal] = np.arange(len(tree.terminal))
    return Plays(game, tree.utility[terminal[node]] * game.unit, _mark_ends(path), None)


def _by_hands(
    game: CompiledGame, nodes: PublicNodes, policy: Policy, rng: np.random.Generator, n: int
) -> Plays:
    """Draw plays on the public nodes.

    The hands are dealt first. Nodes are then visited level by level, each for all plays that reach
    it.
    """
    hands, utilities = deal(nodes, rng, n), np.empty((n, game.n_players))
    node = np.zeros(n, dtype=np.int64)
    path, pending = [node], [(0, np.arange(n))]
    while pending:
        node, next_pending = node.copy(), []
        for public_node, plays in pending:
            children = np.array([step.node for step in nodes.children(public_node)], dtype=np.int64)
            if not len(children):
                factor, key = nodes.payoff(public_node)
                utilities[plays] = factor * nodes.matrix(key)[:, *hands[plays].T].T
                continue
            player = nodes.player(public_node)
            if player == CHANCE:
                probabilities = nodes.outcomes(public_node, hands[plays])
            else:
                probabilities = strategies_at(policy, nodes, public_node)[hands[plays, player]]
            chosen = _draw_steps(rng, probabilities)
            node[plays] = children[chosen]
            next_pending += [
                (int(children[k]), plays[chosen == k]) for k in np.unique(chosen).tolist()
            ]
        pending = next_pending
        path.append(node)
    return Plays(game, utilities, _mark_ends(path[:-1]), hands)


def deal(
    nodes: PublicNodes,
    rng: np.random.Generator,
    n: int,
    node: int = 0,
    reaches: Sequence[np.ndarray] | None = None,
) -> np.ndarray:
    """Draw hands of the players, given that they get to a node.

    Args:
        nodes: The public nodes.
        rng: The random generator.
        n: Number of plays.
        node: The node; by default the root, where the hands are drawn as chance deals them.
        reaches: For each player float64 (hands,): the own reach of the node; by default 1.

    Returns:
        int64 (n, players).
    """
    hands = np.empty((n, len(nodes.hands)), dtype=np.int64)
    own_reaches = list(reaches or (np.ones(len(labels)) for labels in nodes.hands))
    # A hand is drawn given the hands before it, because hands cannot share a card.
    for player in range(len(nodes.hands)):
        for before in np.unique(hands[:, :player], axis=0):
            for opponent, hand in enumerate(before.tolist()):
                own_reaches[opponent] = np.zeros(len(nodes.hands[opponent]))
                own_reaches[opponent][hand] = 1.0
            plays = np.flatnonzero((hands[:, :player] == before).all(axis=1))
            weights = own_reaches[player] * nodes.counterfactual_reach(node, player, own_reaches)
            hands[plays, player] = _choices(rng, weights, len(plays))
    return hands


def _choices(rng: np.random.Generator, weights: np.ndarray, n: int) -> np.ndarray:
    return rng.choice(len(weights), size=n, p=weights / weights.sum())


def _draw_steps(rng: np.random.Generator, probabilities: np.ndarray) -> np.ndarray:
    """Draw the step of each play.

    Args:
        rng: The random generator.
        probabilities: float64 (plays, steps): the probabilities.

    Returns:
        int64 (plays,).
    """
    cumulative = np.cumsum(probabilities, axis=1)
    chosen = (cumulative <= rng.random(len(probabilities))[:, None]).sum(axis=1)
    # Rounding may leave the sum of the probabilities a little below the drawn number: then take
    # the last step with a positive probability.
    last = probabilities.shape[1] - 1 - (probabilities[:, ::-1] > 0).argmax(axis=1)
    steps: np.ndarray = np.minimum(chosen, last)
    return steps


def _mark_ends(path: list[np.ndarray]) -> np.ndarray:
    """Return the nodes of plays, -1 after the end of each, int64 (plays, steps + 1)."""
    nodes = np.stack(path, axis=1)
    # A play that has ended repeats its last node.
    nodes[:, 1:][np.diff(nodes, axis=1) == 0] = -1
    return nodes
