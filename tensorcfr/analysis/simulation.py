"""Plays of a game, drawn at random from a policy, with a log of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated

import numpy as np

from .._util.arguments import EXACT, Whole, checked
from ..errors import GameError
from ..evaluation.metrics import PolicyLike
from ..formats.policies import find_policy
from ..model.arguments import Flat
from ..model.arrays import CHANCE, TERMINAL, HistoryTree, PublicTree
from ..model.flat_game import FlatGame
from ..model.labels import PublicGame


@dataclass(frozen=True, eq=False)
class Plays:
    """Plays of a game."""

    game: FlatGame
    """The game."""
    utilities: np.ndarray
    """float64 (plays, players): what each play paid."""
    nodes: np.ndarray
    """int64 (plays, steps + 1): the nodes that each play came to, the root first, of
    ``game.histories`` or else of ``game.public.tree``; -1 after its end."""
    hands: np.ndarray | None
    """int64 (plays, players): the hands that were dealt, where nodes are public."""

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
        """float64 (players,): the standard error of the mean; NaN of a single play."""
        if len(self) < 2:
            return np.full(self.game.n_players, np.nan)
        return self.utilities.std(axis=0, ddof=1) / np.sqrt(len(self))

    @cached_property
    def _board(self) -> _Board:
        return _board(self.game)

    def steps(self, play: int) -> list[str]:
        """``["chance: J", "player 0 at J: bet", ...]``.

        Raises:
            IndexError: There is no such play.
        """
        nodes = [node for node in self.nodes[play].tolist() if node >= 0]
        hands = np.zeros(0, dtype=np.int64) if self.hands is None else self.hands[play]
        said = [
            f"chance: {self.game.public_game.hands[player][hand]} to player {player}"
            for player, hand in enumerate(hands.tolist())
        ]
        for above, node in pairwise(nodes):
            step = self._board.label(above, node)
            infoset = self._board.infoset(above, hands)
            if infoset is None:
                said.append(f"chance: {step}")
            else:
                player = int(self.game.infoset_player[infoset])
                said.append(f"player {player} at {self.game.infoset_labels[infoset]}: {step}")
        return said

    def log(self) -> Iterator[str]:
        """One line for every play: its steps, and what it paid."""
        for play in range(len(self)):
            paid = ", ".join(f"{utility + 0.0:+g}" for utility in self.utilities[play].tolist())
            yield f"{'; '.join(self.steps(play))} -> {paid}"


@checked()
def simulate(
    game: Flat,
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
        game: The game; one of private hands is played on its public tree, whatever its size.
        policy: Everybody's strategies, in any form that :func:`tensorcfr.formats.find_policy`
            reads.
        n: How many plays.
        seed: The same seed gives the same plays.

    Raises:
        ValueError: The policy is not for this game, or ``n`` is not a whole number >= 1.
    """
    probabilities = find_policy(game, policy).probabilities
    board = _board(game)
    rng = np.random.default_rng(seed)
    hands = board.deal(rng, n)
    node = np.zeros(n, dtype=np.int64)
    path = [node]
    while True:
        going = np.flatnonzero(board.first_child[node + 1] > board.first_child[node])
        if not len(going):
            break
        at = node[going]
        dealt = hands[going]
        children = board.first_child[at + 1] - board.first_child[at]
        drawn = rng.random(len(at))
        chosen, last = np.full((2, len(at)), -1)
        below = np.zeros(len(at))
        for child in range(int(children.max())):
            some = np.flatnonzero((child < children) & (chosen < 0))
            likely = board.probability(probabilities, at[some], child, dealt[some])
            below[some] += likely
            last[some[likely > 0]] = child
            chosen[some[(drawn[some] < below[some]) & (likely > 0)]] = child
        # Rounding may leave the sum of the probabilities a little below the number drawn.
        chosen = np.where(chosen < 0, last, chosen)
        node = node.copy()
        node[going] = board.first_child[at] + chosen
        path.append(node)
    nodes = np.stack(path, axis=1)
    stays = np.diff(nodes, axis=1) == 0
    nodes[:, 1:][stays] = -1
    shown = hands if hands.size else None
    return Plays(game, board.utilities(node, hands) * game.unit, nodes, shown)


class _Board(ABC):
    """What plays are drawn on: histories, or a public tree with hands."""

    def __init__(self, game: FlatGame, tree: HistoryTree | PublicTree) -> None:
        self.game, self.player = game, tree.player
        self.first_child = tree.first_child.astype(np.int64)
        """int64 (nodes + 1,)."""

    def deal(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """int64 (n, players): hands; (n, 0) where chance nodes deal them."""
        return np.zeros((n, 0), dtype=np.int64)

    def probability(
        self, policy: np.ndarray, node: np.ndarray, child: int, hands: np.ndarray
    ) -> np.ndarray:
        """float64: the probability of the step from each node to its child with this number."""
        found, by_chance = np.empty(len(node)), self.player[node] == CHANCE
        found[by_chance] = self.chance(self.first_child[node[by_chance]] + child, hands[by_chance])
        infoset = self.infosets(node[~by_chance], hands[~by_chance])
        sequence = self.game.infoset_sequence[infoset] + child * self.game.infoset_stride[infoset]
        found[~by_chance] = policy[sequence]
        return found

    @abstractmethod
    def chance(self, node: np.ndarray, hands: np.ndarray) -> np.ndarray:
        """float64: the probability of chance's step into each node."""

    @abstractmethod
    def infosets(self, node: np.ndarray, hands: np.ndarray) -> np.ndarray:
        """The infoset at each node, where somebody acts."""

    @abstractmethod
    def utilities(self, node: np.ndarray, hands: np.ndarray) -> np.ndarray:
        """float64 (plays, players): what the terminals pay, as multiples of the game's unit."""

    @abstractmethod
    def label(self, above: int, node: int) -> str:
        """The action or outcome that leads from one node to the next."""

    def infoset(self, node: int, hands: np.ndarray) -> int | None:
        """The infoset at a node; None where chance acts."""
        if self.player[node] == CHANCE:
            return None
        return int(self.infosets(np.array([node]), hands[None])[0])


def _board(game: FlatGame) -> _Board:
    return _Histories(game) if game.by_histories else _Hands(game, game.public_game)


class _Histories(_Board):
    """Plays on the history tree."""

    def __init__(self, game: FlatGame) -> None:
        super().__init__(game, game.tree)
        self.tree = tree = game.tree
        self.terminal = np.full(tree.n_nodes, -1)
        self.terminal[tree.terminal] = np.arange(len(tree.terminal))

    def chance(self, node: np.ndarray, hands: np.ndarray) -> np.ndarray:
        return self.tree.probability[node]

    def infosets(self, node: np.ndarray, hands: np.ndarray) -> np.ndarray:
        return self.tree.infoset[node]

    def utilities(self, node: np.ndarray, hands: np.ndarray) -> np.ndarray:
        return self.tree.utility[self.terminal[node]]

    def label(self, above: int, node: int) -> str:
        if self.player[above] == CHANCE:
            return self.game.outcome_labels[int(self.tree.outcome[node])]
        actions = self.game.infoset_actions[int(self.tree.infoset[above])]
        return actions[node - int(self.first_child[above])]


class _Hands(_Board):
    """Plays on the public tree, hands dealt beforehand."""

    def __init__(self, game: FlatGame, public: PublicGame) -> None:
        super().__init__(game, public.tree)
        self.tree, self.edges = public.tree, public.edges

    def deal(self, rng: np.random.Generator, n: int) -> np.ndarray:
        prior = self.tree.prior
        drawn = rng.choice(prior.size, size=n, p=prior.ravel() / prior.sum())
        return np.stack(np.unravel_index(drawn, prior.shape), axis=1)

    def chance(self, node: np.ndarray, hands: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.tree.chance_table[(self.tree.chance[node], *hands.T)]
        return found

    def infosets(self, node: np.ndarray, hands: np.ndarray) -> np.ndarray:
        held = hands[np.arange(len(node)), self.player[node]]
        return self.game.places.infosets(node, held)

    def utilities(self, node: np.ndarray, hands: np.ndarray) -> np.ndarray:
        if (self.player[node] != TERMINAL).any():
            raise GameError(f"{self.game.name}: a play did not come to an end")
        payoff = self.tree.payoff[node]
        at = self.tree.matrix[payoff]
        paid = [
            self.tree.matrix_table[(at, player, *hands.T)] for player in range(self.game.n_players)
        ]
        return self.tree.coefficient[payoff][:, None] * np.stack(paid, axis=1)

    def label(self, above: int, node: int) -> str:
        return self.edges[int(self.tree.edge[node])]
