"""Tables of all hands at a public line of a solved game of cards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Flag, Number, OneOf, Text, Where, brief, checked
from .._util.one_line import OneLine
from ..compilers.cards.card_public_nodes import ANY_CARD, CardNodes
from ..compilers.cards.card_sums import shares_of_runouts
from ..compilers.cards.equity import equities, equities_of_three
from ..errors import suggest
from ..evaluation.metrics import Evaluation
from ..games.holdem import grid_label, grid_place
from ..games.poker.deck import numbers_of
from ..games.poker.spot import Spot
from ..games.tournaments import Tournament
from ..model.public_nodes import steps_of
from ..rules import HandGroups
from ..solvers.solution import Solution
from .policy_values import Exactness, Values
from .table_files import save_rows

LONGEST_LINE = 10_000
UNITS = ("chips", "pot", "mbb")
"""Units of values: chips, per cent of the pot at the start of the spot, thousandths of a big
blind."""
SHARES = NET, POT = ("net", "pot")
"""Meanings of values: net of a player's part of the pot at the start, or the share of the pot at a
line."""


class Grid(NamedTuple):
    """Positions of hands in a grid."""

    labels: tuple[tuple[str, ...], ...]
    """Label of each cell, row by row."""
    heads: tuple[tuple[str, ...], tuple[str, ...]] | None
    """Names of the rows and of the columns, if the labels are composed of them."""
    place: np.ndarray
    """int64 (hands, 2): row and column of each hand."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.labels), len(self.labels[0])

    def means(self, numbers: np.ndarray, shares: np.ndarray, *, total: bool = False) -> np.ndarray:
        """Average numbers over the hands of each cell.

        Args:
            numbers: float64 (hands,) or (hands, actions).
            shares: float64 (hands,): weight of each hand; hands with weight 0 are left out.
            total: Whether to return weighted sums instead of means.

        Returns:
            float64 (rows, columns) or (rows, columns, actions); NaN in cells without hands.
        """
        numbers = np.asarray(numbers, dtype=np.float64)
        has_weight = shares > 0.0
        cells, share = tuple(self.place[has_weight].T), shares[has_weight]
        sums, count = np.zeros((*self.shape, *numbers.shape[1:])), np.zeros(self.shape)
        np.add.at(sums, cells, share.reshape(-1, *[1] * (numbers.ndim - 1)) * numbers[has_weight])
        np.add.at(count, cells, share)
        if total:
            sums[count == 0] = np.nan
            return sums
        with np.errstate(invalid="ignore"):
            cell_means: np.ndarray = sums / count.reshape(*self.shape, *[1] * (numbers.ndim - 1))
        return cell_means


def grid_of(cards: np.ndarray, groups: Mapping[str, HandGroups] = MappingProxyType({})) -> Grid:
    """Return the grid of some hands: the first two groupings as rows and columns, or 13 x 13.

    Args:
        cards: int64 (hands, 1 to 5): the cards of each hand.
        groups: Groupings of these hands, from :meth:`~tensorcfr.CardGame.groups`.

    Raises:
        ValueError: There are fewer than two groupings, and hands do not have two cards.
    """
    if len(groups) > 1:
        rows, columns = list(groups.values())[:2]
        labels = tuple(tuple(f"{row} {column}" for column in columns.names) for row in rows.names)
        return Grid(
            labels, (rows.names, columns.names), np.stack([rows.of_hand, columns.of_hand], 1)
        )
    if cards.shape[1] != 2:
        raise ValueError(f"hands of {cards.shape[1]} cards have no grid")
    places = [[grid_label(row, column) for column in range(13)] for row in range(13)]
    cells = np.array([grid_place(hand) for hand in cards], dtype=np.int64).reshape(-1, 2)
    return Grid(tuple(map(tuple, places)), None, cells)


def equities_at(
    nodes: CardNodes, node: int, own_reaches: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Compute the equities among the hands that are left at a public node, for each player.

    See :func:`~tensorcfr.compilers.cards.equity.equities` and, for three players,
    :func:`~tensorcfr.compilers.cards.equity.equities_of_three`. Before the first deal of a game
    that pays all-ins on average, the equities are those averages.

    Args:
        nodes: The public nodes.
        node: The public node.
        own_reaches: For each player float64 (hands,): the own reach of the node.
    """
    remaining = [
        nodes.remaining_weight(node, player, own_reaches) for player in range(len(own_reaches))
    ]
    board, dealt = nodes.cards(node), nodes.to_deal(node)
    if len(remaining) > 2:
        of_runouts = nodes.runout_equities(node, own_reaches)
        if of_runouts is not None:
            return of_runouts
        return equities_of_three(nodes.rules, board, remaining, dealt, nodes.competing(node))
    if not nodes.betting.round[nodes.at(node)[0]] and (n_cards := int(nodes.betting.runs.max())):
        won, tied, _ = shares_of_runouts(nodes.rules, n_cards)
        wins, disjoint = won + tied / 2.0, nodes.dealing.apart
        with np.errstate(divide="ignore", invalid="ignore"):
            first = ((disjoint * wins) @ remaining[1]) / (disjoint @ remaining[1])
            return first, ((disjoint * (1.0 - wins)).T @ remaining[0]) / (disjoint.T @ remaining[0])
    return equities(nodes.rules, board, (remaining[0], remaining[1]), dealt)


@dataclass(frozen=True, eq=False, repr=False)
class HandTable(OneLine):
    """All hands of the player who acts at a public line."""

    line: str
    """The line, ``"check bet120 call 7s"``."""
    board: tuple[str, ...]
    """Cards of the board at the line."""
    player: int
    """Player who acts."""
    seat: str
    """Name of that player, ``"oop"``."""
    actions: tuple[str, ...]
    """Labels of the actions."""
    hands: tuple[str, ...]
    """Hands that are possible there."""
    cards: np.ndarray
    """int64 (hands, 1 to 5): their cards, numbered as in hold'em if the deck is hold'em's."""
    weight: np.ndarray
    """float64 (hands,): weight in the range times own reach, the part of the hand that is left."""
    opponent_weight: np.ndarray
    """float64 (hands,): total remaining weight of the other player's hands that share no card with
    the hand or the board; with three players, of the pairs of their hands, which share no card
    either."""
    strategy: np.ndarray
    """float64 (hands, actions): average strategy. It is uniform for hands that never get here, and
    as locked at locked infosets."""
    values: np.ndarray
    """float64 (hands, actions): expected utility of each action, given the hand and the line; NaN
    if no hands of the others get here."""
    grouped: Mapping[str, HandGroups]
    """Groupings of the hands by name: ``"made"`` hands in spots, and ``"pairs"`` and ``"suits"``
    with more than three cards; empty in other games."""
    find_equity: Callable[[], np.ndarray]
    """Function that computes :attr:`equity`."""

    @property
    def made(self) -> tuple[str, ...]:
        """Made hand of each hand, ``"two pair"``; empty in games that are not spots."""
        return self._names("made") if "made" in self.grouped else ()

    def _names(self, by: str) -> tuple[str, ...]:
        names, of_hand, _ = self.grouped[by]
        return tuple(names[group] for group in of_hand.tolist())

    @property
    def value(self) -> np.ndarray:
        """float64 (hands,): expected utility of each hand."""
        mean: np.ndarray = (self.strategy * self.values).sum(axis=1)
        return mean

    @cached_property
    def equity(self) -> np.ndarray:
        """float64 (hands,): equity of each hand against the rest of the others' ranges, the share
        of the pot that it wins if there is no more betting. NaN if no hands of the others get
        here."""
        return self.find_equity()

    @property
    def share(self) -> np.ndarray:
        """float64 (hands,): probability of each hand given the line; sums to 1, or is 0 if no hand
        gets here."""
        joint = self.weight * self.opponent_weight
        share: np.ndarray = joint / max(joint.sum(), 1e-300)
        return share

    @property
    def frequencies(self) -> dict[str, float]:
        """Frequency of each action over all hands."""
        return dict(zip(self.actions, (self.share @ self.strategy).tolist(), strict=True))

    def mean(self, numbers: np.ndarray) -> float:
        """Average numbers over the hands, weighted by :attr:`share`; NaN if no hand gets here."""
        share = self.share
        has_share = share > 0.0
        return float(share[has_share] @ numbers[has_share]) if has_share.any() else float("nan")

    @cached_property
    def places(self) -> Grid:
        """Grid of the hands: 13 x 13, or pairs x suits for longer hands.

        Raises:
            ValueError: Hands with this number of cards have no grid.
        """
        return grid_of(self.cards, self.grouped)

    def grid(self, numbers: np.ndarray, *, total: bool = False) -> np.ndarray:
        """Average numbers over the hands of each cell of :attr:`places`, weighted by :attr:`share`.

        Args:
            numbers: float64 (hands,) or (hands, actions): :attr:`strategy`, :attr:`value`,
                :attr:`equity`, ...
            total: Whether to return unweighted sums instead of means: ``grid(table.weight,
                total=True)`` has the combos.

        Returns:
            float64 (rows, columns) or (rows, columns, actions), 13 x 13 for hands of two cards; NaN
            in cells without hands.
        """
        shares = np.ones(len(self.hands)) if total else self.share
        return self.places.means(numbers, shares, total=total)

    def groups(self, by: str = "made") -> list[dict[str, Any]]:
        """Describe each group of hands by its combos, share of the range, frequencies, value and
        equity.

        Args:
            by: A grouping of :attr:`grouped`; made hands are ordered from the strongest.

        Returns:
            One row for each group that gets here.

        Raises:
            ValueError: There is no such grouping.
        """
        if by not in self.grouped:
            known = f"; {suggest(by, self.grouped)}" if self.grouped else ""
            raise ValueError(f"the hands have no groups by {brief(by)}{known}")
        (names, of_hand, _), share = self.grouped[by], self.share
        rows = []
        for group, name in enumerate(names):
            in_group = of_hand == group
            if not (share[in_group] > 0).any():
                continue
            group_share = share * in_group / (share @ in_group)
            has_share = group_share > 0
            row: dict[str, Any] = {
                by: name,
                "combos": float(self.weight[in_group].sum()),
                "share": float(share @ in_group),
            }
            row |= dict(zip(self.actions, (group_share @ self.strategy).tolist(), strict=True))
            row["value"] = float(group_share[has_share] @ self.value[has_share])
            row["equity"] = float(group_share[has_share] @ self.equity[has_share])
            rows.append(row)
        return rows

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each hand: its groups, weight, value, and the probability and value per
        action."""
        names = {by: self._names(by) for by in self.grouped}
        value = self.value
        for h, hand in enumerate(self.hands):
            row: dict[str, Any] = {
                "hand": hand,
                **{by: group_names[h] for by, group_names in names.items()},
            }
            row |= {"weight": float(self.weight[h]), "value": float(value[h])}
            for a, action in enumerate(self.actions):
                row[action] = float(self.strategy[h, a])
                row[f"value of {action}"] = float(self.values[h, a])
            yield row

    @checked()
    def save(self, path: Annotated[str | Path, Where()]) -> Path:
        """Write :meth:`rows` to a file, ``.csv``, ``.json`` or ``.parquet``, and return its path.

        Raises:
            ValueError: The file has another ending.
            MissingExtraError: pyarrow is not installed (Parquet); names the extra.
            OSError: The file cannot be written.
        """
        return save_rows(list(self.rows()), Path(path))


@dataclass(frozen=True, eq=False, repr=False)
class Runouts(OneLine):
    """Strategies and values at a line on all cards that can be dealt."""

    line: str
    """The line, with ``*`` for any card."""
    player: int
    """Player who acts after it."""
    seat: str
    """Name of that player, ``"oop"``."""
    actions: tuple[str, ...]
    """Labels of the actions."""
    cards: tuple[tuple[str, ...], ...]
    """Cards in the places of ``*``, for each runout."""
    probability: np.ndarray
    """float64 (runouts,): probability of each runout given that the line is played; sums to 1."""
    frequency: np.ndarray
    """float64 (runouts, actions): frequency of each action; NaN if no hand gets there."""
    value: np.ndarray
    """float64 (runouts,): expected utility of the player who acts."""
    equity: np.ndarray
    """float64 (runouts,): equity of the player who acts; NaN if it was not asked for."""

    @property
    def frequencies(self) -> dict[str, float]:
        """Frequency of each action over all runouts."""
        reached = self.probability > 0
        mean = self.probability[reached] @ self.frequency[reached]
        return dict(zip(self.actions, mean.tolist(), strict=True))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each runout."""
        for k, cards in enumerate(self.cards):
            row: dict[str, Any] = {"cards": " ".join(cards)}
            row["probability"] = float(self.probability[k])
            row |= dict(zip(self.actions, self.frequency[k].tolist(), strict=True))
            row |= {"value": float(self.value[k]), "equity": float(self.equity[k])}
            yield row

    @checked()
    def save(self, path: Annotated[str | Path, Where()]) -> Path:
        """Write :meth:`rows` to a file as :meth:`HandTable.save` does, and return its path."""
        return save_rows(list(self.rows()), Path(path))


class SolvedSpot:
    """Solution of a game of cards, for lookups line by line.

    The constructor makes one pass over the whole game, which takes about as long as an iteration on
    one thread. The numbers of a line are computed with its chunk when they are looked up.

    Args:
        solution: A solution of a :class:`~tensorcfr.CardGame`.
        of: Meaning of the values of hands, in spots. ``"net"`` is the amount won beyond the
            player's equal part of the pot at the start of the spot. ``"pot"`` is the share of the
            pot at a line, including the bets of all players, as other solvers report it. A player
            who folds has 0, and the players' values sum to the pot minus rake.  With prizes for
            three players this holds only approximately, because prizes depend on who gets the
            chips.

    Raises:
        TypeError: The solution is not of a game of cards, or the game has no pot.
    """

    @checked()
    def __init__(self, solution: Solution, *, of: Annotated[str, OneOf(SHARES)] = NET) -> None:
        if not isinstance(solution, Solution):
            raise TypeError(f"solution must be a Solution, not {brief(solution)}")
        game = solution.game
        self.game, self.nodes = game, CardNodes.of(game)
        self.rules = self.nodes.rules
        self._values = Values(solution.policy)
        self._of_pot = self._spot if of == POT else None

    @property
    def _spot(self) -> Spot:
        if not isinstance(self.rules, Spot):
            raise TypeError(f"{self.game.name} has no pot")
        return self.rules

    def __repr__(self) -> str:
        return f"<SolvedSpot: {self.game.name}>"

    @property
    def evaluation(self) -> Evaluation:
        """Value and best-response value of each player from that pass, in the form of a
        solution's."""
        return self._values.evaluation

    @checked()
    def table(self, line: Annotated[str, Text(LONGEST_LINE)] = "") -> HandTable:
        """Return the table of all hands at a line.

        Args:
            line: The actions and dealt cards so far, separated by spaces, ``"check bet120 call"``;
                ``"start"``, or nothing, for the first node.

        Raises:
            ValueError: There is no such line, or nobody acts there.
        """
        return self._table(" ".join(steps_of(line)), self.nodes.find_line(line))

    @checked()
    def ranges(self, line: Annotated[str, Text(LONGEST_LINE)] = "") -> tuple[np.ndarray, ...]:
        """Return all players' remaining ranges at a line.

        Args:
            line: As for :meth:`table`, but nobody needs to act there.

        Returns:
            For each player float64 (hands,), over :attr:`game.hands`: weight in the range times own
            reach; 0 for hands with a card of the board.
        """
        node = self.nodes.find_line(line)
        own_reaches = self._values.own_reaches(node)
        players = range(self.game.n_players)
        return tuple(self.nodes.remaining_weight(node, p, own_reaches) for p in players)

    @checked()
    def values(self, line: Annotated[str, Text(LONGEST_LINE)] = "") -> tuple[np.ndarray, ...]:
        """Return the values of a line to all players; any of them may act there.

        Before the last street this reads all cards that can be dealt until the player acts again.

        Args:
            line: As for :meth:`ranges`.

        Returns:
            For each player float64 (hands,), over :attr:`game.hands`: expected utility of each hand
            once the line is played; NaN if no hands of the others get there.
        """
        node = self.nodes.find_line(line)
        of_players = enumerate(self._values.of_players(node))
        return tuple(values + self._put_in(node, player) for player, values in of_players)

    @checked()
    def equities(self, line: Annotated[str, Text(LONGEST_LINE)] = "") -> tuple[np.ndarray, ...]:
        """Return the equities of all players' hands at a line.

        Args:
            line: As for :meth:`ranges`.

        Returns:
            For each player float64 (hands,), over :attr:`game.hands`: equity against the others'
            remaining ranges; NaN if no hands of the others get there, and for players who have
            folded.
        """
        node = self.nodes.find_line(line)
        return equities_at(self.nodes, node, self._values.own_reaches(node))

    @checked()
    def exactness(self, line: Annotated[str, Text(LONGEST_LINE)] = "") -> Exactness:
        """Return the exactness of the solution from a line on, in chips.

        Args:
            line: As for :meth:`table`.
        """
        return self._values.exactness(self.nodes.find_line(line))

    @checked()
    def path(self, line: Annotated[str, Text(LONGEST_LINE)]) -> list[dict[str, Any]]:
        """List the steps of a line.

        Each row has the step, the player, the frequency with which their range takes it, and all
        players' combos after it.
        """
        self.nodes.find_line(line)
        rows, prefix = [], ""
        for step in steps_of(line):
            node = self.nodes.find_line(prefix)
            row: dict[str, Any] = {"step": step, "player": None, "frequency": None}
            if self.nodes.player(node) >= 0:
                table = self._table(prefix, node)
                row |= {"player": table.player, "frequency": table.frequencies[step]}
            prefix = f"{prefix} {step}".strip()
            remaining = self.ranges(prefix)
            row |= {f"combos {player}": float(w.sum()) for player, w in enumerate(remaining)}
            rows.append(row)
        return rows

    @checked()
    def runouts(
        self, line: Annotated[str, Text(LONGEST_LINE)], *, equity: Annotated[bool, Flag()] = False
    ) -> Runouts:
        """Return the strategies and values on every card that can be dealt.

        Args:
            line: A line with ``*`` in the places of one or more cards, ``"check check *"``, after
                which a player acts: ``"check check * check check *"`` lists turn and river cards.
            equity: Whether to compute equities, which takes longer before the river.

        Raises:
            ValueError: There is no such line, nothing is dealt at ``*``, or nobody acts after it.
        """
        steps = steps_of(line)
        if ANY_CARD not in steps:
            raise ValueError(f"line must have {ANY_CARD} for any card, not {brief(line)}")
        nodes = self.nodes.find_lines(steps)
        is_any = [step == ANY_CARD for step in steps]
        tables, cards, weights = [], [], []
        for node in nodes:
            labels = [step.label for step in self.nodes.path(node)]
            cards.append(tuple(compress(labels, is_any)))
            node_line = " ".join(labels)
            table = self._table(node_line, node)
            tables.append(table)
            weights.append(float(table.weight @ table.opponent_weight))
        first = tables[0]
        total = max(sum(weights), 1e-300)
        frequency = [
            list(table.frequencies.values()) if weight > 0 else [float("nan")] * len(first.actions)
            for table, weight in zip(tables, weights, strict=True)
        ]
        return Runouts(
            line=line,
            player=first.player,
            seat=first.seat,
            actions=first.actions,
            cards=tuple(cards),
            probability=np.array(weights) / total,
            frequency=np.array(frequency),
            value=np.array([table.mean(table.value) for table in tables]),
            equity=np.array(
                [table.mean(table.equity) if equity else float("nan") for table in tables]
            ),
        )

    @checked()
    def units(
        self,
        values: Any,
        unit: Annotated[str, OneOf(UNITS)] = "chips",
        *,
        big_blind: Annotated[float | None, Number(above=0, finite=True)] = None,
    ) -> Any:
        """Convert values from chips to another unit.

        Args:
            values: Chips, or in a tournament prizes: a number or an array.
            unit: ``"chips"`` for unchanged values; ``"pot"``, per cent of the pot at the start of
                the spot; ``"mbb"``, thousandths of a big blind.
            big_blind: Chips of the big blind, for ``"mbb"``; by default the spot's, or 1.

        Raises:
            ValueError: There is no such unit, or the values of a tournament are not chips.
            TypeError: The values are not numbers, or the game is not a spot and so has no pot.
        """
        try:
            chips = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise TypeError(f"values must be numbers, not {brief(values)}") from None
        if unit == "pot":
            return chips * 100.0 / self._spot.pot_value
        if unit == "mbb" and isinstance(self.rules, Tournament):
            raise ValueError(f"unit='mbb' is for chips; values of {self.game.name} are utilities")
        if unit == "mbb" and big_blind is None:
            return chips / self.game.defaults.units.get("mbb", 0.001)
        return chips * (1000.0 / big_blind if unit == "mbb" and big_blind else 1.0)

    def _put_in(self, node: int, player: int) -> float:
        """Return the amount by which values at a line exceed net values: the player's part of the
        pot."""
        if self._of_pot is None:
            return 0.0
        return self._of_pot.put_in(self.nodes.state(node))[player]

    def _table(self, line: str, node: int) -> HandTable:
        nodes, rules = self.nodes, self.rules
        layout = nodes.layout(node)
        player, own_reaches = layout.player, self._values.own_reaches(node)
        hands = np.flatnonzero(nodes.free(node, player))
        opponent_weight = nodes.opponent_weight(
            node, player, nodes.others_left(node, player, own_reaches)
        )[hands]
        node_values = self._values.at(layout.numbers(hands))
        counterfactual_reach = (
            rules.weights_on(player, nodes.cards(node))[hands] * opponent_weight * nodes.share(node)
        )
        # The entry of merged infosets is the sum of their counterfactual values. Dividing it by
        # their count and by the others' reach gives the expected value of one hand.
        counterfactual_reach *= layout.multiplicity[hands]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(
                opponent_weight > 0.0, node_values.value.T / counterfactual_reach, np.nan
            ).T
        cards, hand_cards = nodes.cards(node), rules.hands[player][hands]
        numbers = numbers_of(rules.cards)
        return HandTable(
            line=line,
            board=tuple(str(rules.cards[card]) for card in cards),
            player=player,
            # Rules of three players may leave out the names.
            seat=dict(enumerate(nodes.player_names)).get(player, f"player {player}"),
            actions=layout.actions,
            hands=tuple(nodes.hands[player][hand] for hand in hands.tolist()),
            cards=hand_cards if numbers is None else numbers[hand_cards],
            weight=nodes.remaining_weight(node, player, own_reaches)[hands],
            opponent_weight=opponent_weight,
            strategy=node_values.strategy,
            values=values + self._put_in(node, player),
            grouped={
                by: groups._replace(of_hand=groups.of_hand[hands])
                for by, groups in rules.groups(player, cards).items()
            },
            find_equity=lambda: equities_at(nodes, node, own_reaches)[player][hands],
        )


@checked()
def hand_table(solution: Solution, line: Annotated[str, Text(LONGEST_LINE)] = "") -> HandTable:
    """Return the table of all hands at a public line of a solved game of cards.

    For several lines, use :class:`SolvedSpot`, which keeps its pass over the game.

    Args:
        solution: A solution of a :class:`~tensorcfr.CardGame`.
        line: The actions and dealt cards so far, separated by spaces: ``"check bet120 call 7s"``.

    Raises:
        TypeError: The solution is not of a game of cards.
        ValueError: There is no such line, or nobody acts there.
    """
    return SolvedSpot(solution).table(line)
