"""Nodes of card games, as poker players see them.

They show the board, the chips, equities, made hands and draws, and the play on every next card.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from math import comb
from threading import Lock
from typing import Any

import numpy as np

from .._util.plain import plain
from ..analysis.action_colours import action_colours
from ..analysis.hand_tables import equities_at, grid_of
from ..analysis.other_utilities import policy_in
from ..analysis.policy_values import Values
from ..analysis.prize_tables import chip_game
from ..compilers.cards.card_public_nodes import CardNodes
from ..games.poker.deck import RANKS, SUITS, numbers_of
from ..games.poker.groups import MADE, draws, made_hands
from ..games.poker.spot import Spot
from ..games.tournaments import Tournament
from ..model.arrays import CHANCE, TERMINAL
from ..model.compiled_game import CompiledGame
from ..rules import CardGame, HandGroups
from ..solvers.solution import Solution
from .shown_nodes import MAX_CARDS, HandNodes, SolutionValues, part

MAX_BOARDS = 30_000
"""Largest number of boards for which an equity is computed: more than all flops, fewer than all
turns."""
MAX_AT_ONCE = 60_000
"""Largest number of boards for which the equities of all next cards together are computed."""
USUAL_HANDS = 1_326
"""Number of hands for which these limits hold; games with more hands have lower limits."""
MAX_READ = 3_000
"""Largest number of public nodes that are read for the values of a player who does not act."""
SEATS = {"big blind": "bb", "small blind": "sb"}
"""Short names of positions."""
LISTED = 20
"""Number of hands that are listed per group, the likeliest ones, if hands are in groups."""


class PrizeValues(SolutionValues):
    """Expected values of a solution of a tournament, in prizes and in chips.

    Args:
        game: The game in prizes.
        solution: The solution.
        chip_game: Function that returns the game in chips.
    """

    def __init__(
        self, game: CompiledGame, solution: Solution, chip_game: Callable[[], CompiledGame]
    ) -> None:
        super().__init__(game, solution)
        self._chip_game = chip_game

    def _work(self, solution: Solution) -> Values:
        self.chips = Values(policy_in(self._chip_game(), solution.policy))
        return super()._work(solution)


def tournament_facts(rules: CardGame) -> dict[str, Any] | None:
    """Return stacks, prizes and risks of all players for the page; None if the game is not a hand
    of a tournament."""
    if not isinstance(rules, Tournament):
        return None
    seats = [name.upper() for name in rules.player_names]
    others = [f"P{place + 1}" for place in range(len(seats), len(rules.stacks_before))]
    facts: dict[str, Any] = {
        "players": seats + others,
        "stacks": list(rules.stacks_before),
        "before": list(rules.utilities_before),
        "prizes": rules.prizes_before,
        "pool": None if rules.prizes_before is None else sum(rules.prizes_before),
    }
    if (risks := rules.risks) is not None:
        facts |= {name: plain(numbers.tolist()) for name, numbers in risks._asdict().items()}
    return facts


class CardHandNodes(HandNodes):
    """Public nodes of a card game."""

    nodes: CardNodes

    def __init__(self, game: CompiledGame, nodes: CardNodes) -> None:
        super().__init__(game, nodes)
        self.rules = nodes.rules
        self._chip_game: CompiledGame | None = None
        self._compiling = Lock()
        self._names_on = lru_cache(maxsize=200)(self._make_names)
        self._groups_on = lru_cache(maxsize=8)(self._make_groups)

    @property
    def facts(self) -> dict[str, Any]:  # noqa: D102
        rules, blinds = self.rules, self.nodes.defaults.units.get("mbb")
        facts = super().facts
        return facts | {
            "cards": True,
            "seats": [SEATS.get(name, name) for name in facts["seats"]],
            "ranges": rules.names_ranges,
            "deck": [str(card) for k, card in enumerate(rules.cards) if k not in rules.dead],
            "made": self._made_names,
            "tournament": self._tournament,
            "start": self.at_table(0)["chips"],
            "pot": rules.pot_value if isinstance(rules, Spot) else None,
            "big_blind": blinds and 1000.0 * blinds,
        }

    @property
    def _made_names(self) -> list[str]:
        """Names of made hands, the strongest first."""
        if self._numbers is not None:
            return list(MADE)
        return list(self.rules.categories[::-1]) if isinstance(self.rules, Spot) else []

    @cached_property
    def _tournament(self) -> dict[str, Any] | None:
        return tournament_facts(self.rules)

    def values_of(self, solution: Solution) -> SolutionValues:
        """Return the values of a solution; in a tournament also those in chips."""
        if self._tournament is None:
            return super().values_of(solution)
        return PrizeValues(self.game, solution, self.chip_game)

    def chip_game(self) -> CompiledGame:  # noqa: D102
        with self._compiling:
            if self._chip_game is None:
                self._chip_game = chip_game(self.game)
        return self._chip_game

    def at_table(self, node: int) -> dict[str, Any]:  # noqa: D102
        rules, nodes = self.rules, self.nodes
        board = [str(rules.cards[card]) for card in nodes.cards(node)]
        chips = nodes.chips(node)
        betting, (betting_node, _) = nodes.betting, nodes.at(node)
        deals = (
            betting.deals[int(betting.round[betting_node])] if nodes.player(node) == CHANCE else 0
        )
        put_in = rules.put_in(nodes.state(node)) if isinstance(rules, Spot) else None
        return {
            "board": board,
            "chips": chips and chips._asdict() | {"put_in": put_in},
            "deals": deals,
        }

    def _range(
        self, player: int, node: int, own_reaches: list[np.ndarray], joint: list[np.ndarray]
    ) -> list[dict[str, Any]]:
        rows, cards = super()._range(player, node, own_reaches, joint), self.nodes.cards(node)
        if (names := self._names_on(player, cards)) is not None:
            for row, made_hand, draw in zip(rows, *names, strict=True):
                row["made"], row["draw"] = made_hand, draw
        if groups := self._groups_on(player, cards):
            listed = self._listed(node, player, self.nodes.shown(player)[1], joint)
            for grouping, group in groups.items():
                for row, number in zip(rows, group.of_hand[listed].tolist(), strict=True):
                    row[grouping] = group.names[number]
        return rows

    def _listed(
        self, node: int, player: int, hands: np.ndarray, joint: list[np.ndarray]
    ) -> np.ndarray:
        groups = self._groups_on(player, self.nodes.cards(node))
        if not groups:
            return hands
        hands = hands[self.nodes.free(node, player)[hands]]
        chosen = np.zeros(len(hands), dtype=bool)
        for group in groups.values():
            of_hand = group.of_hand[hands]
            # Sort by group, the likeliest hands first; the rank within the group is the place in
            # this order minus the place where the group begins.
            order = np.lexsort((-joint[player][hands], of_hand))
            begin = np.searchsorted(of_hand[order], of_hand[order])
            chosen[order[np.arange(len(order)) - begin < LISTED]] = True
        return hands[chosen]

    def _in_groups(
        self, node: int, own_reaches: list[np.ndarray], joint: list[np.ndarray], of: SolutionValues
    ) -> dict[str, Any]:
        nodes = self.nodes
        if not (groups := self._groups_on(0, nodes.cards(node))):
            return {}
        rows, columns = list(groups.values())[1:3]
        free_hands = [np.flatnonzero(nodes.free(node, seat)) for seat in range(len(joint))]
        cells = [
            self._sums(node, seat, own_reaches, joint, h, {})["cell"]
            for seat, h in enumerate(free_hands)
        ]
        data = {"grid": [rows.names, columns.names], "cells": cells}
        if nodes.decides(node):
            player = nodes.player(node)
            hands = np.flatnonzero(nodes.possible(node, player))
            numbers = {"p": of.solution.policy.at(nodes.layout(node).numbers(hands))}
            if (values := of.get(0.0)) is not None:
                numbers["ev"] = values.at_node(node).infoset_expected
                if of.chips is not None:
                    numbers["chips"] = of.chips.at_node(node).infoset_expected
                value = float(joint[player][hands] @ np.nan_to_num(numbers["ev"]))
                data["value"] = part(value, float(joint[player].sum()))
            data["groups"] = self._sums(node, player, own_reaches, joint, hands, numbers)
        return data

    def _sums(
        self,
        node: int,
        player: int,
        own_reaches: list[np.ndarray],
        joint: list[np.ndarray],
        hands: np.ndarray,
        numbers: dict[str, np.ndarray],
    ) -> dict[str, list[dict[str, Any]]]:
        """Sum hands by group, for each way of grouping.

        Each group has its name, its number of hands, their probability, their remaining weight, and
        means of ``numbers`` weighted by probability.
        """
        reach = joint[player][hands]
        remaining = self.nodes.remaining_weight(node, player, own_reaches)[hands]
        grouped = {}
        for grouping, groups in self._groups_on(player, self.nodes.cards(node)).items():
            of_hand = groups.of_hand[hands]

            def sums(each: np.ndarray | None, of_hand: np.ndarray = of_hand) -> np.ndarray:
                total: np.ndarray = np.bincount(of_hand, each, len(groups.names))  # noqa: B023
                return total

            count, group_reach = sums(None), sums(reach)
            columns: dict[str, Any] = {
                "hands": count,
                "reach": group_reach,
                "weight": sums(remaining),
                "fill": sums(np.minimum(remaining, 1.0)) / np.maximum(count, 1),
            }
            for name, number in numbers.items():
                each = np.nan_to_num(number.reshape(len(hands), -1)).T
                mean = np.stack([sums(reach * action_numbers) for action_numbers in each], axis=1)
                mean = np.where(
                    group_reach[:, None] > 0, mean / np.maximum(group_reach[:, None], 1e-300), 0
                )
                columns[name] = mean if number.ndim > 1 else mean[:, 0]
            ranges = groups.ranges or groups.names
            grouped[grouping] = [
                {"by": grouping, "name": groups.names[k], "range": ranges[k]}
                | {name: column[k].tolist() for name, column in columns.items()}
                for k in np.flatnonzero(count).tolist()
            ]
        return grouped

    @cached_property
    def _numbers(self) -> np.ndarray | None:
        """int64 (cards,): number of each card of the deck among the cards of hold'em. It is None if
        the deck has other cards or lacks a rank, or if hands do not have two cards."""
        numbers = numbers_of(self.rules.cards)
        if numbers is None or self.rules.hands[0].shape[1] != 2:
            return None
        ranks = np.delete(numbers, self.rules.dead) // len(SUITS)
        return numbers if len(np.unique(ranks)) == len(RANKS) else None

    def _make_groups(self, player: int, board: tuple[int, ...]) -> dict[str, HandGroups]:
        """Return the groups of a player's hands if they are shown in place of the 13 x 13 grid.

        The groups with the key ``cell`` are the cells of the grid.
        """
        groups = dict(self.rules.groups(player, board))
        if len(groups) < 2:
            return {}
        rows, columns = list(groups.values())[:2]
        grid = grid_of(self.rules.hands[player], groups)
        names = tuple(name for row in grid.labels for name in row)
        ranges = tuple(a + b for a in rows.ranges for b in columns.ranges)
        of_hand = np.ravel_multi_index(tuple(grid.place.T), grid.shape)
        return {"cell": HandGroups(names, of_hand, ranges)} | groups

    def _make_names(
        self, player: int, board: tuple[int, ...]
    ) -> tuple[list[str], list[str]] | None:
        """Return made hand and draw of each hand of a player; None if they have no names."""
        if self._numbers is not None and len(board) >= 3:
            cards, hands = self._numbers[list(board)], self._numbers[self.rules.hands[player]]
            return made_hands(tuple(cards.tolist()), hands), draws(tuple(cards.tolist()), hands)
        groups = self.rules.groups(player, board).get("made")
        if groups is None or self._groups_on(player, board):
            return None
        names = [groups.names[group] for group in groups.of_hand.tolist()]
        return names, [""] * len(names)

    # -------------------------------------------------------------------------------------- extras

    def extras(self, number: int) -> tuple[str, ...]:  # noqa: D102
        player = self._player(number)
        if player != CHANCE:
            return () if player == TERMINAL else ("equity",)
        few = len(self.nodes.children(number)) <= MAX_CARDS
        return ("equity", "runouts") if few else ("equity",)

    def extra(self, name: str, number: int, of: SolutionValues) -> dict[str, Any]:
        """Return an extra of a node.

        ``"equity"`` and ``"values"`` have the equities and the expected values of all hands of all
        players at a node, and their means. ``"runouts"`` has, for each next card at a chance node,
        the mean equities and the frequency of each next action.
        """
        self._player(number)
        work = {"equity": self._equity, "values": self._values, "runouts": self._runouts}.get(name)
        return super().extra(name, number, of) if work is None else work(number, of)

    def _equity(self, node: int, of: SolutionValues) -> dict[str, Any]:
        with self._lock:
            own_reaches, joint = self._reaches(node, of)
        if self._count_boards(node) > self._max_boards:
            return self._unknown | {"boards": self._count_boards(node)}
        equities = equities_at(self.nodes, node, own_reaches)
        return self._of_hands(node, own_reaches, joint, equities)

    def _values(self, node: int, of: SolutionValues) -> dict[str, Any]:
        if (values := of.get()) is None or not self._reads_few(node):
            return self._unknown
        with self._lock:
            own_reaches, joint = self._reaches(node, of)
            return self._of_hands(node, own_reaches, joint, values.of_players(node))

    @property
    def _unknown(self) -> dict[str, Any]:
        """Extra with a number of all hands that is not known."""
        return {"hands": None, "means": [None] * self.game.n_players}

    def _reads_few(self, node: int) -> bool:
        """Return whether the values of all players need at most :data:`MAX_READ` nodes."""
        nodes, count = self.nodes, 0
        for player in range(self.game.n_players):
            pending = [node]
            while pending:
                below = pending.pop()
                count += 1
                if (actor := nodes.player(below)) in (player, TERMINAL):
                    continue
                if actor == CHANCE and self._count_deals(below) > MAX_CARDS:
                    return False
                pending += [step.node for step in nodes.children(below)]
                if count + len(pending) > MAX_READ:
                    return False
        return True

    def _of_hands(
        self,
        node: int,
        own_reaches: list[np.ndarray],
        joint: list[np.ndarray],
        numbers: Sequence[np.ndarray],
    ) -> dict[str, Any]:
        """Return a number of all hands of all players, by hand and by group, and its means.

        Args:
            node: The public node.
            own_reaches: For each player float64 (hands,): the own reach of the node.
            joint: For each player float64 (hands,): probability of holding a hand there.
            numbers: For each player float64 (hands,).
        """
        hands, groups = [], []
        for player, number in enumerate(numbers):
            free = np.flatnonzero(self.nodes.free(node, player))
            listed, names = self._listed(node, player, free, joint), self.nodes.hands[player]
            hands.append({names[hand]: float(number[hand]) for hand in listed.tolist()})
            sums = self._sums(node, player, own_reaches, joint, free, {"number": number[free]})
            groups.append(
                {
                    grouping: {row["name"]: row["number"] for row in rows}
                    for grouping, rows in sums.items()
                }
            )
        return {"hands": hands, "groups": groups, "means": _means(numbers, joint)}

    @property
    def _max_boards(self) -> int:
        """Largest number of boards for which an equity is computed, with the hands of this game."""
        hands = max(map(len, self.nodes.hands))
        return int(MAX_BOARDS / max(1.0, hands / USUAL_HANDS))

    def _count_boards(self, node: int) -> int:
        """Return the number of ways to complete the board of a node."""
        undealt = np.setdiff1d(self.rules.free, self.nodes.cards(node))
        return comb(len(undealt), self.nodes.to_deal(node))

    def _count_deals(self, node: int) -> int:
        """Return the number of sets of cards that can be dealt at a chance node."""
        count = self.nodes.betting.deals[int(self.nodes.betting.round[self.nodes.at(node)[0]])]
        return comb(len(self.rules.free) - len(self.nodes.cards(node)), int(count))

    def _runouts(self, node: int, of: SolutionValues) -> dict[str, Any]:
        if self.nodes.player(node) != CHANCE:
            raise ValueError("no card is dealt at this node")
        steps = self.nodes.children(node)
        if len(steps) > MAX_CARDS:
            raise ValueError(f"{len(steps):,} sets of cards can be dealt here: too many runouts")
        max_boards = self._max_boards * MAX_AT_ONCE // MAX_BOARDS
        has_equities = len(steps) * self._count_boards(steps[0].node) <= max_boards
        runouts: dict[str, Any] = {"player": None, "actions": [], "colours": None, "cards": {}}
        for step in steps:
            with self._lock:
                own_reaches, joint = self._reaches(step.node, of)
                total = float(joint[0].sum())
                card: dict[str, Any] = {"id": step.node, "p": None}
                card["equity"] = [None] * self.game.n_players
                if self.nodes.decides(step.node) and total > 0:
                    layout = self.nodes.layout(step.node)
                    action_reaches = self._action_reaches(step.node, joint[layout.player], of)
                    card["p"] = [part(float(reach), total) for reach in action_reaches]
                    runouts["player"], runouts["actions"] = layout.player, list(layout.actions)
            if has_equities and total > 0:
                card["equity"] = _means(equities_at(self.nodes, step.node, own_reaches), joint)
            runouts["cards"][step.label] = card
        runouts["colours"] = action_colours(runouts["actions"])
        return runouts


def _means(numbers: Sequence[np.ndarray], joint: list[np.ndarray]) -> list[float | None]:
    """Return the mean of a number over each player's range; None if it is empty or unknown."""
    means: list[float | None] = []
    for number, reach in zip(numbers, joint, strict=True):
        is_held = reach > 0
        total = float(number[is_held] @ reach[is_held])
        is_known = is_held.any() and not np.isnan(total)
        means.append(total / float(reach[is_held].sum()) if is_known else None)
    return means
