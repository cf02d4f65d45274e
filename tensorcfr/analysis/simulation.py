"""Plays of a game, drawn from a policy, with a log of each."""

from __future__ import annotations

from collections.abc import Iterator
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
        hands, said = [] if self.hands is None else self.hands[play].tolist(), []
        if self.game.nodes is not None:
            names = zip(self.game.nodes.hands, hands, strict=False)
            said = [f"chance: {own[hand]} to player {one}" for one, (own, hand) in enumerate(names)]
        for above, node in pairwise(path):
            player, label, step = self._step(above, node, hands)
            said.append(f"player {player} at {label}: {step}" if label else f"chance: {step}")
        return said

    def counts(self, player: int) -> dict[str, dict[str, int]]:
        """Count how often a player took each action, by infoset label and action label.

        Actions that they never took are left out.
        """
        found: dict[str, dict[str, int]] = {}
        hands = np.zeros((len(self), 0), dtype=np.int64) if self.hands is None else self.hands
        for above, node in pairwise(self.nodes.T):
            taken = np.column_stack([above, node, hands])[node >= 0]
            rows, times = np.unique(taken, axis=0, return_counts=True)
            for (before, after, *held), count in zip(rows.tolist(), times.tolist(), strict=True):
                actor, label, step = self._step(before, after, held)
                if actor == player:
                    row = found.setdefault(label, {})
                    row[step] = row.get(step, 0) + count
        return found

    def _step(self, above: int, node: int, hands: list[int]) -> tuple[int, str, str]:
        """Return the player of a step, the label of their infoset (empty for chance), and the
        step's label."""
        nodes = self.game.nodes
        if self.hands is None or nodes is None:
            game = require_flat(self.game, "a history")
            player, step = int(game.tree.player[above]), step_label(game, node)
            infoset = int(game.tree.infoset[above])
            return player, game.infoset_labels[infoset] if player >= 0 else "", step
        player = nodes.player(above)
        step = next(step.label for step in nodes.children(above) if step.node == node)
        return player, nodes.labels(above, [hands[player]])[0] if player >= 0 else "", step

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
    found, rng = find_policy(game, policy), np.random.default_rng(seed)
    if game.nodes is None or game.by_histories:
        return _by_histories(require_flat(game, "drawing histories"), found, rng, n)
    return _by_hands(game, game.nodes, found, rng, n)


def _by_histories(game: FlatGame, policy: Policy, rng: np.random.Generator, n: int) -> Plays:
    """Draw plays on the history tree."""
    tree = game.tree
    likely, first_child = step_probabilities(game, policy.probabilities), tree.first_child
    first_child = first_child.astype(np.int64)
    node = np.zeros(n, dtype=np.int64)
    path = [node]
    while True:
        going = np.flatnonzero(first_child[node + 1] > first_child[node])
        if not len(going):
            break
        begin = first_child[node[going]]
        children = first_child[node[going] + 1] - begin
        # One row per play that goes on; columns beyond the children of its node stay 0.
        table = np.zeros((len(going), int(children.max())))
        for child in range(table.shape[1]):
            some = np.flatnonzero(child < children)
            table[some, child] = likely[begin[some] + child]
        node = node.copy()
        node[going] = begin + _drawn(rng, table)
        path.append(node)
    terminal = np.full(tree.n_nodes, -1)
    terminal[tree.terminal] = np.arange(len(tree.terminal))
    return Plays(game, tree.utility[terminal[node]] * game.unit, _ended(path), None)


def _by_hands(
    game: CompiledGame, nodes: PublicNodes, policy: Policy, rng: np.random.Generator, n: int
) -> Plays:
    """Draw plays on the public nodes.

    The hands are dealt first. Nodes are then visited level by level, each for all plays that reach
    it.
    """
    hands, utilities = deal(nodes, rng, n), np.empty((n, game.n_players))
    node = np.zeros(n, dtype=np.int64)
    path, left = [node], [(0, np.arange(n))]
    while left:
        node, going = node.copy(), []
        for at, here in left:
            children = np.array([step.node for step in nodes.children(at)], dtype=np.int64)
            if not len(children):
                factor, key = nodes.payoff(at)
                utilities[here] = factor * nodes.matrix(key)[:, *hands[here].T].T
                continue
            player = nodes.player(at)
            if player == CHANCE:
                likely = nodes.outcomes(at, hands[here])
            else:
                likely = strategies_at(policy, nodes, at)[hands[here, player]]
            chosen = _drawn(rng, likely)
            node[here] = children[chosen]
            going += [(int(children[k]), here[chosen == k]) for k in np.unique(chosen).tolist()]
        left = going
        path.append(node)
    return Plays(game, utilities, _ended(path[:-1]), hands)


def deal(nodes: PublicNodes, rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw hands of two players as chance deals them, int64 (n, 2)."""
    hands = np.empty((n, 2), dtype=np.int64)
    own = [np.ones(len(labels)) for labels in nodes.hands]
    hands[:, 0] = _choices(rng, nodes.others_reach(0, 0, own), n)
    # The second hand is drawn given the first, because hands cannot share a card.
    for first in np.unique(hands[:, 0]).tolist():
        own[0] = (np.arange(len(own[0])) == first).astype(np.float64)
        here = np.flatnonzero(hands[:, 0] == first)
        hands[here, 1] = _choices(rng, nodes.others_reach(0, 1, own), len(here))
    return hands


def _choices(rng: np.random.Generator, weights: np.ndarray, n: int) -> np.ndarray:
    return rng.choice(len(weights), size=n, p=weights / weights.sum())


def _drawn(rng: np.random.Generator, likely: np.ndarray) -> np.ndarray:
    """Draw the step of each play.

    Args:
        rng: The random generator.
        likely: float64 (plays, steps): the probabilities.

    Returns:
        int64 (plays,).
    """
    below = np.cumsum(likely, axis=1)
    chosen = (below <= rng.random(len(likely))[:, None]).sum(axis=1)
    # Rounding may leave the sum of the probabilities a little below the drawn number: then take
    # the last step with a positive probability.
    last = likely.shape[1] - 1 - (likely[:, ::-1] > 0).argmax(axis=1)
    found: np.ndarray = np.minimum(chosen, last)
    return found


def _ended(path: list[np.ndarray]) -> np.ndarray:
    """Return the nodes of plays, -1 after the end of each, int64 (plays, steps + 1)."""
    nodes = np.stack(path, axis=1)
    # A play that has ended repeats its last node.
    nodes[:, 1:][np.diff(nodes, axis=1) == 0] = -1
    return nodes
