"""Cumulative regrets and cumulative strategies of a solver by infoset, in any layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..errors import Lookup
from ..model.compiled_game import CompiledGame
from ..model.infoset_rows import InfosetRows
from ..model.layout import Layout
from ..model.policy import located
from ..model.public_nodes import PublicNodes
from ..model.sequence_table import Piece, SequenceTable
from .problem import Problem

SumsOf = Callable[[Problem, Any], tuple[np.ndarray, np.ndarray]]
COLUMNS = ("regret_sum", "strategy_sum")
"""Columns of a table of sums."""


class InfosetSums(NamedTuple):
    """Sums of one infoset, by action."""

    regret: dict[str, float]
    """Cumulative regrets as the local rule keeps them, in the game's own unit: CFR+ floors them at
    0, DCFR discounts them."""
    strategy: dict[str, float]
    """Cumulative strategies: sums over iterations of averaging weight times own reach times
    probability.  The average strategy is proportional to them."""


class SumRows(NamedTuple):
    """Sums of some infosets of one player."""

    infosets: InfosetRows
    regret: np.ndarray
    """float64 (infosets, actions): cumulative regrets, as :attr:`InfosetSums.regret`."""
    strategy: np.ndarray
    """float64 (infosets, actions): cumulative strategies, as :attr:`InfosetSums.strategy`."""


class Sums(Mapping[str, InfosetSums]):
    """Sums of a solver: a mapping from infoset labels to :class:`InfosetSums`.

    A solver keeps one regret for infosets that it merges, and none for infosets with one action.
    Here every infoset has its own numbers, which are the same in each layout of the game.  If
    infosets share a strategy (imperfect recall), each has the sums of all of them, because the
    algorithm keeps only these.

    >>> from tensorcfr import compile_game, solve
    >>> solution = solve(compile_game("leduc"), "cfr", iters=1)
    >>> {action: round(regret, 4) for action, regret in solution.sums["Js"].regret.items()}
    {'call': 0.0079, 'raise': -0.0079}

    Args:
        problem: The game, the algorithm and the locks.
        sums_of: Function that returns the sums of a state; see :meth:`IterativeSolver.sums_of`.
        state: The state.

    Raises:
        ValueError: The game is not compiled, or the solver keeps other numbers than regrets of
            single actions; names them.
    """

    def __init__(self, problem: Problem, sums_of: SumsOf, state: Any) -> None:
        game: CompiledGame = problem.game
        if game.layout == Layout.RULES:
            raise ValueError(f"{game.name} is not compiled: there are no sums by infoset")
        self.game = game
        """The game."""
        regret, self._strategy = sums_of(problem, state)
        self._regret = regret * game.unit

    def __repr__(self) -> str:
        return f"<Sums of {self.game.name}: {len(self):,} infosets>"

    def __getitem__(self, label: str) -> InfosetSums:
        infoset, nodes = located(self.game, label), self.game.nodes
        if self.game.layout != Layout.CHUNKS:
            regret, strategy = self._regret[infoset.numbers], self._strategy[infoset.numbers]
        else:
            assert nodes is not None
            node_infoset = nodes.found(label)
            rows = self._at_node(nodes, node_infoset.node, np.array([node_infoset.hand]))
            regret, strategy = rows.regret[0], rows.strategy[0]
        return InfosetSums(
            *(
                Lookup(zip(infoset.actions, numbers.tolist(), strict=True))
                for numbers in (regret, strategy)
            )
        )

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(map(self.game.labels_of, range(self.game.n_players)))

    def __len__(self) -> int:
        return self.game.n_infosets

    def rows(self, player: int) -> Iterator[SumRows]:
        """Return the sums of a player, in the order of :meth:`CompiledGame.rows`."""
        nodes = self.game.nodes
        if self.game.layout == Layout.CHUNKS:
            assert nodes is not None
            return (self._at_node(nodes, node) for node in nodes.deciding(player))
        return (
            SumRows(rows, self._regret[rows.numbers], self._strategy[rows.numbers])
            for rows in self.game.rows(player)
        )

    def table(self) -> SequenceTable:
        """Return the columns ``regret_sum`` and ``strategy_sum`` by label."""
        return SequenceTable(
            self.game, COLUMNS, self._pieces, self.game.n_sequences - self.game.n_players
        )

    def _pieces(self) -> Iterator[Piece]:
        for rows, *numbers in chain.from_iterable(map(self.rows, range(self.game.n_players))):
            yield Piece(rows.player, rows.labels, rows.actions, numbers)

    def _at_node(self, nodes: PublicNodes, node: int, hands: np.ndarray | None = None) -> SumRows:
        """Return the sums at a public node of a cut game, of all possible hands by default."""
        player, layout = nodes.player(node), nodes.layout(node)
        hands = np.flatnonzero(nodes.possible(node, player)) if hands is None else hands
        infosets = nodes.rows(node, hands)
        strategy = self._strategy[self._last_numbers(nodes, node, hands)]
        if not layout.stride:
            # The only action of an infoset has no regret.
            return SumRows(infosets, np.zeros_like(strategy), strategy)
        regret = self._regret[infosets.numbers] / infosets.multiplicity[:, None]
        return SumRows(infosets, regret, strategy)

    @cached_property
    def _empty(self) -> list[int]:
        """Number of each player's empty sequence."""
        empty: list[int] = self.game.chunks.trunk.player_sequences[:-1].tolist()
        return empty

    def _last_numbers(self, nodes: PublicNodes, node: int, hands: np.ndarray) -> np.ndarray:
        """Return the numbers of a decision's cumulative strategies, int64 (hands, actions).

        A decision with one action has no numbers.  Its sums are those of the player's last action
        before it, because the own reach is the same.
        """
        player, layout = nodes.player(node), nodes.layout(node)
        if layout.stride:
            return layout.numbers(hands)
        numbers = np.full((len(hands), 1), self._empty[player])
        parent = 0
        for step in nodes.path(node):
            if nodes.player(parent) == player and (layout := nodes.layout(parent)).stride:
                action = layout.actions.index(step.label)
                numbers = layout.numbers(hands)[:, action : action + 1]
            parent = step.node
        return numbers
