"""Payoffs of a card game: groups of terminals, and hands by strength on every board."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model.card_structure import (
    FOLD,
    RUNOUT,
    SHOWDOWN,
    BettingTree,
    HandClasses,
    RoundBoards,
    Symmetry,
)
from ...payoff import PayoffCards, PayoffEntries
from ...payoff import card_payoffs as cards_part
from ...payoff.card_payoffs import CARDS_OF_CODES, LANES, codes_of, part_for
from ...rules import CardGame
from .card_sums import Dealing, same_hands, shares_of_runouts
from .form import CardForm, Last

AT_ONCE = 1 << 16
"""Number of hands, over some boards, whose strengths are sorted at a time."""
DEAD = np.iinfo(np.int64).max
"""Strength of hands that a board makes impossible."""


@dataclass(frozen=True, eq=False)
class _Terminal:
    """Terminal of the betting, or a part of its payoffs."""

    kind: int
    node: int
    pays: np.ndarray
    """float64 (players, 3): payoffs for a win, a tie and a loss."""
    rows: list[int]
    """Sequence of each player that the terminal ends, on the first board."""


class PayoffBuilder(ABC):
    """Builder for the payoffs of the forms of a card game.

    Args:
        rules: The rules.
        betting: The betting.
        boards: The boards of each round.
        symmetry: The solved boards, and the classes of hands on them.
        last: Each player's last action before every node.
    """

    kind: type[Any]
    """Class of the payoffs."""
    by_pairs = False
    """True if the payoffs before the first deal are computed for each pair of hands."""

    def __init__(
        self,
        rules: CardGame,
        betting: BettingTree,
        boards: tuple[RoundBoards, ...],
        symmetry: Symmetry,
        last: list[list[Last]],
    ) -> None:
        self.rules, self.betting, self.boards, self.last = rules, betting, boards, last
        self.symmetry = symmetry
        self.dealing = Dealing(rules, betting.deals)
        self.solved_for = [
            of_round.orbit_size * self.dealing.weights(of_all.cards[of_round.board])
            for of_all, of_round in zip(boards, symmetry.rounds, strict=True)
        ]
        """float64 (solved boards,) for each round: number of boards that each solved board
        represents, times their weight."""
        shows = np.unique(betting.round[betting.kind == SHOWDOWN])
        self.shows = [r in shows for r in range(betting.rounds + 1)]
        """Rounds in which hands are compared, as a bool for each round."""
        self.n_lists = [rules.rankings if shown else 1 for shown in self.shows]
        """Number of hand lists of each player on a board, for each round: one for each ranking, or
        one if hands are not compared."""

    @abstractmethod
    def of(
        self, form: CardForm, inside: np.ndarray, on_boards: list[list[list[np.ndarray]]]
    ) -> Any:
        """Build the payoffs of a form.

        Args:
            form: The form.
            inside: bool (nodes,): whether each node belongs to the form.
            on_boards: For each round of the form, the results of :meth:`on_boards`; empty for a
                form on one board, whose arrays are added later.
        """

    @abstractmethod
    def on_boards(self, r: int) -> Iterator[list[np.ndarray]]:
        """Yield the order of all hands by strength on every solved board of a round, ranking by
        ranking."""

    @abstractmethod
    def board_arrays(self, r: int, board: int, on_board: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Return the arrays of :attr:`kind` that belong to one board, by name.

        Args:
            r: The round.
            board: The solved board.
            on_board: Its item of :meth:`on_boards`.
        """

    def entries(self, form: CardForm) -> PayoffEntries:
        """Build the payoffs of a form before the first deal, as entries for pairs of classes of
        hands; only if :attr:`by_pairs`."""
        raise NotImplementedError

    def first_boards(self, on_boards: list[list[list[np.ndarray]]]) -> np.ndarray:
        """Return the number of the first board of each round, if a board counts once for each of
        its :attr:`n_lists`; int64 (rounds + 1,).

        The argument is that of :meth:`of`.
        """
        counts = [n * len(boards) for n, boards in zip(self.n_lists, on_boards, strict=False)]
        return np.cumsum([0, *counts])

    def cards(self, r: int, board: int) -> tuple[int, ...]:
        """Return all cards on a solved board of a round, including the cards that lie there from
        the start."""
        dealt = self.boards[r].cards[self.symmetry.rounds[r].board[board]]
        return (*self.rules.board, *dealt.tolist())


class Payoffs(PayoffBuilder):
    """Builder for the payoffs of the forms of a card game of two players.

    In addition to the arguments of :class:`PayoffBuilder`, ``is_whole`` is True if cards are dealt
    and one form has all boards.
    """

    def __init__(
        self, rules: CardGame, betting: BettingTree, *others: Any, is_whole: bool = False
    ) -> None:
        super().__init__(rules, betting, *others)
        kinds = betting.kind[betting.round == 0]
        self.by_pairs = bool((kinds >= (FOLD if rules.boards else RUNOUT)).any())
        """True if the payoffs before the first deal are computed for each pair of hands."""
        self.same = same_hands(rules)
        is_held = np.ones(len(rules.cards), dtype=bool)
        if is_whole:
            # Sums are kept for cards in hands only.  With few hands, most of the work is to clear
            # the sums of the other cards.  (Digests in files of other games count all cards.)
            is_held = np.isin(np.arange(len(rules.cards)), np.concatenate(rules.hands))
        self.card_number, self.n_cards = np.cumsum(is_held) - 1, int(is_held.sum())
        """Number of each card in hand lists, int64 (cards,), and how many numbers there are."""
        self.kind = part_for(rules.hands[0].shape[1])

    def of(  # noqa: D102
        self, form: CardForm, inside: np.ndarray, on_boards: list[list[list[np.ndarray]]]
    ) -> PayoffCards:
        where = form.where
        group, sequence, amount = [], [], []
        first_board = self.first_boards(on_boards)
        for r in range(len(on_boards) or self.betting.rounds + 1):
            ends = np.flatnonzero(
                inside & (self.betting.kind >= FOLD) & (self.betting.round == r)
            ).tolist()
            if self.by_pairs and r == 0:
                continue
            share = self.dealing.share(r)
            count = self.solved_for[r][where.boards[r]].tolist() if on_boards else [1]
            before, n_lists = first_board[r] if on_boards else 0, self.n_lists[r]
            for terminals in self._group_terminals(form, ends):
                nodes = [terminal.node for terminal in terminals]
                # Lanes without a terminal repeat the first terminal.
                lanes = [*range(len(nodes)), *[0] * (LANES - len(nodes))]
                first = np.array(
                    [
                        [form.ended(player, self.last[player][node], r) for node in nodes]
                        for player in range(2)
                    ]
                )
                amounts = np.array([terminal.pays for terminal in terminals])
                pays = share * amounts.transpose(1, 2, 0)[:, :, lanes]
                kind = terminals[0].kind
                # Each ranking decides an equal share; a fold does not read the ranking.
                rankings = 1 if kind == cards_part.FOLD else n_lists
                for board, multiplicity in enumerate(count):
                    for ranking in range(rankings):
                        group.append((len(nodes), before + n_lists * board + ranking, kind))
                        sequence.append(first[:, lanes, board])
                        amount.append(pays * multiplicity / rankings)
        # Invariant C7: groups ascend by board.
        order = sorted(range(len(group)), key=lambda k: group[k][1])
        board_rows, walk = [], []
        used, varies = 0, self.rules.weights_vary
        kinds = list[tuple[int, tuple[int, ...]]]()
        for r, of_round in enumerate(on_boards):
            for b, (lists, kind) in enumerate(
                zip(of_round, where.classes[r].tolist(), strict=True)
            ):
                for first_begin, second_begin in _begins(lists):
                    begins = used + first_begin, used + second_begin
                    board_rows.append((*begins, len(kinds) if varies else kind))
                used += sum(map(len, lists))
                walk += lists
                kinds.append((kind, self.cards(r, int(where.boards[r][b]))))
        if not on_boards:
            kinds = [(int(where.classes[-1][0]), self.rules.board)]
        elif not varies:
            kinds = [(kind, self.rules.board) for kind in range(len(self.symmetry.classes))]
        classes, weights, same = self._classes(kinds)
        return self.kind(
            sizes=np.array([*np.diff(classes, axis=1).max(axis=0), self.n_cards]),
            lanes=classes,
            weight=weights,
            same=same,
            board=np.array(board_rows, dtype=np.int64).reshape(-1, 3),
            hand_list=np.concatenate([np.empty(0, dtype=np.uint32), *walk]),
            group=np.array([group[k] for k in order], dtype=np.int64).reshape(-1, 3),
            sequence=_stack_items([sequence[k] for k in order], np.int64, LANES),
            amount=_stack_items([amount[k] for k in order], np.float64, 3, LANES),
        )

    def entries(self, form: CardForm) -> PayoffEntries:  # noqa: D102
        ends = np.flatnonzero((self.betting.kind >= FOLD) & (self.betting.round == 0)).tolist()
        class_pair = self.symmetry.classes[0]
        counts = [hand_classes.n_classes for hand_classes in class_pair]
        pairs = self.dealing.pairs
        all_pairs = _by_classes(pairs, class_pair)
        shared: dict[int, list[np.ndarray]] = {}
        amounts, runs = self.betting.amounts, self.betting.runs
        for cards in {int(runs[n]) for n in ends if self.betting.kind[n] != FOLD}:
            shares = shares_of_runouts(self.rules, cards)
            shared[cards] = [_by_classes(pairs * share, class_pair) for share in shares]
        rows, columns, values, begins = [], [], [], [0]
        for player in range(2):
            own_first, other_first = (
                [int(form.ended(p, self.last[p][n], 0)[0]) for n in ends]
                for p in (player, 1 - player)
            )
            for row in sorted(set(own_first)):
                terminals = sorted(
                    (other_first[k], n) for k, n in enumerate(ends) if own_first[k] == row
                )
                tables = []
                for _, node in terminals:
                    if self.betting.kind[node] == FOLD:
                        table = amounts[node, 0, player] * all_pairs
                    else:
                        win, tie, lose = amounts[node, :, player].tolist()
                        won, tied, lost = shared[int(runs[node])]
                        table = win * won + tie * tied + lose * lost
                    # Entries are laid out by the other player's classes, then by the player's own.
                    tables.append(table.T if player == 0 else table)
                after = np.concatenate(
                    [first + np.arange(counts[1 - player]) for first, _ in terminals]
                )
                rows.append((row, counts[player], len(after)))
                columns.append(np.repeat(after, counts[player]))
                values.append(np.concatenate(tables).ravel())
            begins.append(len(rows))
        row, count, entries = np.array(rows, dtype=np.int64).T.copy()
        return PayoffEntries(
            row=row,
            rows=count,
            entries=entries,
            offset=np.cumsum(count * entries) - count * entries,
            slices=np.array(begins),
            column=np.concatenate(columns).astype(np.uint32)[None],
            value=np.concatenate(values),
        )

    def weight(self, kind: int, board: tuple[int, ...]) -> np.ndarray:
        """Return :attr:`PayoffCards.weight` for the classes of one kind on a board, float64 (2,
        classes)."""
        classes = self.symmetry.classes[kind]
        of_one = [
            self.rules.weights_on(p, board)[hand_classes.first]
            for p, hand_classes in enumerate(classes)
        ]
        sizes = [hand_classes.size for hand_classes in classes]
        return np.stack([np.concatenate(of_one), np.concatenate(of_one) * np.concatenate(sizes)])

    def _classes(
        self, kinds: Iterable[tuple[int, tuple[int, ...]]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the fields ``lanes``, ``weight`` and ``same`` of :class:`PayoffCards`.

        Args:
            kinds: The kinds of classes, each with the cards of a board.
        """
        is_full = self.rules.hands[0].shape[1] == CARDS_OF_CODES[self.kind]
        lanes, weight, same = [], [np.empty((2, 0))], []
        used = 0
        for kind, board in kinds:
            class_pair = self.symmetry.classes[kind]
            lanes.append(np.cumsum([used, class_pair[0].n_classes, class_pair[1].n_classes]))
            used = int(lanes[-1][-1])
            weight.append(self.weight(kind, board))
            for player, own_classes in enumerate(class_pair):
                other_classes = class_pair[1 - player]
                none = other_classes.n_classes
                twin = np.append(other_classes.of_hand, none)[self.same[player][own_classes.first]]
                same.append(twin if is_full else np.full(own_classes.n_classes, none))
        return (
            np.array(lanes),
            np.concatenate(weight, axis=1),
            np.concatenate(same).astype(np.uint32),
        )

    def _group_terminals(self, form: CardForm, ends: list[int]) -> list[list[_Terminal]]:
        """Group terminals of one round, up to :data:`LANES` of one kind in a group.

        The terminals of a group end different sequences of both players.  Where the number of
        groups stays the same, a group of showdowns is followed by the folds to the same bets, lane
        by lane.  Then the kernel reads or writes the rows of the bets once for both groups.
        """
        shows, folds, groups = list[_Terminal](), list[_Terminal](), list[list[_Terminal]]()
        for node in ends:
            r = int(self.betting.round[node])
            rows = [int(form.ended(p, self.last[p][node], r)[0]) for p in range(2)]
            for kind, pays in _kinds(self.betting.amounts[node]):
                terminal = _Terminal(kind, node, pays, rows)
                (folds if kind == cards_part.FOLD else shows).append(terminal)
        for smallest in (LANES, 1):
            # First form only full pairs of groups.  Then accept smaller ones, if the folds need no
            # more groups than without pairs.
            counts = [len(_called_bets(shows, folds, p)) for p in range(2)]
            counts.append(len(folds) - sum(counts))
            if smallest == 1 and sum(-(-n // LANES) for n in counts) > -(-len(folds) // LANES):
                break
            for p in range(2):
                while len(bets := _called_bets(shows, folds, p)) >= smallest:
                    group = _take_compatible(shows, [show for show, _ in bets])
                    folded = {id(show): fold for show, fold in bets}
                    groups += [group, _take_compatible(folds, [folded[id(show)] for show in group])]
                    others = [show for q in range(2) for show, _ in _called_bets(shows, folds, q)]
                    group += _take_compatible(
                        shows, [terminal for terminal in shows if terminal not in others], group
                    )
        while remaining := shows or folds:
            groups.append(_take_compatible(remaining, remaining))
        return groups

    def board_arrays(  # noqa: D102
        self, r: int, board: int, on_board: list[np.ndarray]
    ) -> dict[str, np.ndarray]:
        arrays = {
            "hand_list": np.concatenate(on_board),
            "board": np.array([(*begins, 0) for begins in _begins(on_board)]),
        }
        if self.rules.weights_vary:
            kind = int(self.symmetry.rounds[r].classes[board])
            arrays["weight"] = self.weight(kind, self.cards(r, board))
        return arrays

    def on_boards(self, r: int) -> Iterator[list[np.ndarray]]:
        """Yield the hand lists of both players for every solved board of a round, ranking by
        ranking."""
        boards = self.symmetry.rounds[r]
        at_once = max(1, AT_ONCE // sum(map(len, self.rules.hands)))
        for begin in range(0, len(boards.board), at_once):
            some = slice(begin, begin + at_once)
            dealt = self.boards[r].cards[boards.board[some]]
            yield from map(
                list, zip(*self._hand_lists_on(dealt, r, boards.classes[some]), strict=True)
            )

    def _hand_lists_on(
        self, dealt: np.ndarray, r: int, kinds: np.ndarray
    ) -> list[list[np.ndarray]]:
        """Return the hand lists on some boards, for each ranking and player.

        Args:
            dealt: int64 (boards, cards): the cards that are dealt on each board.
            r: The round.
            kinds: int64 (boards,): the classes of hands on each board.
        """
        rules, none = self.rules, self.n_cards
        is_dealt = np.zeros((len(dealt), len(rules.cards)), dtype=bool)
        np.put_along_axis(is_dealt, dealt, True, axis=1)
        live = [np.all(~is_dealt[:, hands], axis=2) for hands in rules.hands]
        distinct, kind_of = np.unique(kinds, return_inverse=True)
        own_hands, other_hands = list[_Listed](), list[_Listed]()
        for player, hands in enumerate(rules.hands):
            classes = [self.symmetry.classes[kind][player] for kind in distinct.tolist()]
            # Only the first hand of each class computes a payoff, because all hands of a class have
            # the same.
            is_first = np.array([c.first[c.of_hand] for c in classes]) == np.arange(len(hands))
            is_own = live[player] & is_first[kind_of]
            # The missing card of a short hand gets different numbers for both players, so it never
            # matches.
            for some_hands, is_listed, beyond in (
                (own_hands, is_own, none),
                (other_hands, live[player], none + 1),
            ):
                cards = self.card_number[hands]
                codes = np.array([codes_of(c.of_hand, cards, beyond) for c in classes])
                some_hands.append(_Listed(is_listed, codes[kind_of]))
        lists = []
        for rank, levels in self._ranks(dealt, live, is_shown=self.shows[r]):
            for player in range(2):
                sides = [
                    (own_hands[player], rank[player]),
                    (other_hands[1 - player], rank[1 - player]),
                ]
                counts = [listed.per_level(by, int(levels.max())) for listed, by in sides]
                head = np.column_stack([levels, *(listed.count for listed, _ in sides)])
                level_counts = np.stack(counts, axis=2).reshape(len(dealt), -1)
                columns = [head, level_counts, *(listed.sorted(by) for listed, by in sides)]
                used = [np.full(len(dealt), 3), 2 * levels, *(listed.used for listed, _ in sides)]
                is_used = [
                    np.arange(c.shape[1]) < n[:, None] for c, n in zip(columns, used, strict=True)
                ]
                flat = np.concatenate(columns, axis=1)[np.concatenate(is_used, axis=1)]
                lists.append(np.split(flat.astype(np.uint32), np.cumsum(sum(used))[:-1]))
        return lists

    def _ranks(
        self, dealt: np.ndarray, live: list[np.ndarray], *, is_shown: bool
    ) -> Iterator[tuple[list[np.ndarray], np.ndarray]]:
        """Yield the ranks of the hands of both players on some boards, in each ranking.

        Only the order of strengths matters, so the distinct strengths of both players are numbered
        together.

        Args:
            dealt: int64 (boards, cards): the cards that are dealt on each board.
            live: bool (boards, hands) for each player: whether a hand is possible.
            is_shown: Whether hands are compared; otherwise all of them have rank 0.

        Yields:
            int64 (boards, hands) for each player: the rank of each possible hand, from the weakest;
            int64 (boards,): number of ranks.
        """
        if not is_shown:
            is_possible: np.ndarray = np.any(np.concatenate(live, axis=1), axis=1)
            zeros = [np.zeros(of_player.shape, dtype=np.int64) for of_player in live]
            yield zeros, is_possible.astype(np.int64)
            return
        rules = self.rules
        # Impossible hands are the strongest, so that the ranks of the others have no gaps.
        strength = [np.full((rules.rankings, *of_player.shape), DEAD) for of_player in live]
        for b, cards in enumerate(dealt.tolist()):
            board = (*rules.board, *cards)
            for of_player, hands, is_live in zip(strength, rules.hands, live, strict=True):
                if is_live[b].any():
                    of_player[:, b, is_live[b]] = rules.strengths(board, hands[is_live[b]])
        for together in np.concatenate(strength, axis=2):
            order = np.argsort(together, axis=1, kind="stable")
            ascending = np.take_along_axis(together, order, axis=1)
            dense = np.zeros_like(together)
            dense[:, 1:] = np.cumsum(np.diff(ascending, axis=1) != 0, axis=1)
            levels = np.where(ascending == DEAD, -1, dense).max(axis=1) + 1
            of_hand = np.empty_like(dense)
            np.put_along_axis(of_hand, order, dense, axis=1)
            yield np.split(of_hand, [len(rules.hands[0])], axis=1), levels


class _Listed:
    """Some hands of a player on several boards.

    Args:
        is_listed: bool (boards, hands): whether each hand is listed.
        codes: int64 (boards, hands, numbers): code of each hand.
    """

    def __init__(self, is_listed: np.ndarray, codes: np.ndarray) -> None:
        self._is_listed, self._codes = is_listed, codes
        self.count = is_listed.sum(axis=1)
        """int64 (boards,): number of listed hands."""
        self.used = codes.shape[2] * self.count
        """int64 (boards,): how many of the codes belong to listed hands."""

    def sorted(self, rank: np.ndarray) -> np.ndarray:
        """Return the codes of the listed hands by rank, then the others; int64 (boards, hands *
        numbers)."""
        order = np.argsort(np.where(self._is_listed, rank, DEAD), axis=1, kind="stable")
        by_rank = np.take_along_axis(self._codes, order[:, :, None], axis=1)
        return by_rank.reshape(len(by_rank), -1)

    def per_level(self, rank: np.ndarray, levels: int) -> np.ndarray:
        """Count the listed hands of each rank, int64 (boards, levels)."""
        board, hand = np.nonzero(self._is_listed)
        cells = board * levels + rank[board, hand]
        counts = np.bincount(cells, minlength=len(self.count) * levels)
        return counts.reshape(-1, levels)


def _begins(lists: list[np.ndarray]) -> list[list[int]]:
    """Return where the hand lists of player 0 and player 1 begin in each ranking, if the lists of a
    board follow each other."""
    begins: list[list[int]] = np.cumsum([0, *map(len, lists[:-1])]).reshape(-1, 2).tolist()
    return begins


def _by_classes(pairs: np.ndarray, class_pair: tuple[HandClasses, ...]) -> np.ndarray:
    """Sum a table over pairs of hands to pairs of their classes.

    The sums have the same bits on every machine, because files and workers identify a game by them.

    Returns:
        float64 (classes of player 0, classes of player 1).
    """
    for axis, hand_classes in enumerate(class_pair):
        order = np.argsort(hand_classes.of_hand, kind="stable")
        begin = np.searchsorted(hand_classes.of_hand[order], np.arange(hand_classes.n_classes))
        pairs = np.add.reduceat(np.take(pairs, order, axis=axis), begin, axis=axis)
    return pairs


def _stack_items(items: list[np.ndarray], kind: type, *shape: int) -> np.ndarray:
    """Stack items of shape (2, ...) to an array (2, items, ...)."""
    stacked: np.ndarray = np.array(items, dtype=kind).reshape(len(items), 2, *shape)
    return np.ascontiguousarray(stacked.swapaxes(0, 1))


def _called_bets(
    shows: list[_Terminal], folds: list[_Terminal], player: int
) -> list[tuple[_Terminal, _Terminal]]:
    """Return the showdowns after a player's called bets, each with the fold to the same bet."""
    to_bet = {terminal.rows[player]: terminal for terminal in folds}
    return [
        (terminal, to_bet[terminal.rows[player]])
        for terminal in shows
        if terminal.rows[player] in to_bet
    ]


def _take_compatible(
    pool: list[_Terminal], wanted: list[_Terminal], group: Sequence[_Terminal] = ()
) -> list[_Terminal]:
    """Take the terminals that fit one group out of a list, and return them.

    Args:
        pool: The list; modified in place.
        wanted: The candidates, in order.
        group: The terminals that are in the group already.
    """
    grown = list(group)
    for terminal in wanted:
        fits = all(terminal.rows[p] != member.rows[p] for member in grown for p in range(2))
        if len(grown) < LANES and terminal.kind == (grown or [terminal])[0].kind and fits:
            grown.append(terminal)
    taken = grown[len(group) :]
    pool[:] = [terminal for terminal in pool if terminal not in taken]
    return taken


def _kinds(amounts: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Split a terminal into one or two of the kinds that :class:`PayoffCards` supports.

    Returns:
        For each part, its kind and the payoffs of both players for a win, a tie and a loss, float64
        (players, 3).
    """
    pays = np.stack([amounts[:, 0], amounts[::-1, 1]])
    if (pays == pays[:, :1]).all():
        return [(cards_part.FOLD, pays)]
    size = np.abs(pays).max()
    if (np.abs(pays[:, 0] - pays[:, 2]) > 1e-3 * size).all():
        ties = pays[:, 1].any()
        return [(cards_part.TIES_PAY if ties else cards_part.SHOWDOWN, pays)]
    # The kernel needs different payoffs for a win and a loss.  If they are nearly equal, split the
    # terminal into two parts in which they differ and whose sum is the terminal.
    difference = 2.0 * size * np.array([1.0, 0.0, -1.0])
    return [(cards_part.TIES_PAY, (pays + sign * difference) / 2.0) for sign in (1.0, -1.0)]
