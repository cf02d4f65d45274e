"""From the rules of a game of cards to a trunk and chunks.

The trunk is the betting before the last card; a chunk is the betting after it, on one board, for
some of the lines that lead there.  All boards share the structure of a chunk: hands that have a
card of the board keep their lanes, and the payoffs leave them out.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from .._util.caches import second_level_cache
from .._util.memory import Budget
from .._util.memory import budget as budget_for
from ..errors import GameError, MemoryLimitError
from ..model.arrays import SequenceForm, named_arrays
from ..model.card_game import (
    DEAL,
    DECISION,
    FOLD,
    SHOWDOWN,
    BettingTree,
    Boards,
    CompiledCardGame,
)
from ..model.chunks import CARD_FIELDS, ROW, CardShapes, ChunkedForm
from ..model.cut_game import Counts, Recipe
from ..model.game import CompiledGame
from ..payoff import PayoffCards
from ..payoff import cards as cards_part
from ..payoff.cards import CARD_BITS, HAND_BITS, LANES, MOST_CARDS
from ..rules import CardGame, Chance, Deal, Decision, Fold, Payoff, PublicTreeGame, Showdown
from . import public_game
from .card_size import card_size

CACHE_SHARE = 0.5
"""Share of the second-level cache that the scratch of a chunk may take in single precision: a reach
and a value for every sequence."""


def compile_rules(
    rules: CardGame,
    name: str,
    budget: Budget,
    *,
    source: str | None = None,
    limit: int | None = None,
) -> CompiledCardGame:
    """Compile a game of cards into chunks.

    Args:
        rules: The rules.
        name: What the game is called.
        budget: The bytes that compiling may take.
        source: Name and parameters of a built-in game, which files keep.
        limit: Sequences that a chunk may have, if it has several lines; by default what the cache
            of this machine says.

    Raises:
        GameError: The rules break their contract.
        MemoryLimitError: The game would need more than the budget.
    """
    check(rules, name)
    budget.reserve(int(card_size(rules, name).bytes_compiling))
    betting = unfold(rules, name)
    boards = deal_boards(rules, betting)
    if limit is None:
        limit = int(second_level_cache() * CACHE_SHARE) // 8
    recipe = Recipe(source, True, limit, symmetry=True)
    return _Compiler(rules, name, betting, boards, budget, recipe).run()


# --------------------------------------------------------------------------------------- the rules


def check(rules: CardGame, name: str) -> None:
    """Check what the rules say of cards, hands and weights.

    Raises:
        GameError: It breaks the contract of :class:`~tensorcfr.rules.CardGame`.
    """
    cards = len(rules.cards)
    if rules.n_players != 2:
        raise GameError(f"{name} has {rules.n_players} players; games of cards have two")
    if not 0 < cards <= MOST_CARDS:
        raise GameError(f"{name} has {cards} cards; a deck has 1 to {MOST_CARDS}")
    if len(set(rules.board)) != len(rules.board) or not set(rules.board) <= set(range(cards)):
        raise GameError(f"{name}: the board {rules.board} must be different cards of the deck")
    widths = set()
    for player in range(2):
        hands, weights = rules.hands[player], rules.weights[player]
        if hands.ndim != 2 or hands.shape[1] not in (1, 2) or hands.dtype != np.int64:
            raise GameError(f"{name}: the hands of player {player} must be int64 (hands, 1 or 2)")
        if not 0 < len(hands) < 1 << HAND_BITS:
            raise GameError(f"{name}: player {player} has {len(hands):,} hands")
        widths.add(hands.shape[1])
        if weights.shape != (len(hands),) or not (np.isfinite(weights) & (weights > 0)).all():
            raise GameError(f"{name}: the weights of player {player} must be a number above 0 each")
        wrong = (hands < 0) | (hands >= cards) | np.isin(hands, rules.board)
        if wrong.any():
            hand = int(np.flatnonzero(wrong.any(axis=1))[0])
            raise GameError(f"{name}: hand {hand} of player {player} has a card that is not there")
        if hands.shape[1] == 2 and (hands[:, 0] == hands[:, 1]).any():
            raise GameError(f"{name}: a hand of player {player} has one card twice")
        if len(np.unique(np.sort(hands, axis=1), axis=0)) != len(hands):
            raise GameError(f"{name}: player {player} has a hand twice")
    if len(widths) > 1:
        raise GameError(f"{name}: the hands of both players must have equally many cards")
    if deal_weight(rules) <= 0.0:
        raise GameError(f"{name}: every hand of one player shares a card with every other hand")


def sums_by_card(rules: CardGame | Weighted, player: int, weight: np.ndarray) -> np.ndarray:
    """The sum of weights of the hands with each card, float64 (cards,)."""
    found = np.zeros(len(rules.cards))
    for column in rules.hands[player].T:
        found += np.bincount(column, weight, minlength=len(found))
    return found


def same_hands(rules: CardGame | Weighted) -> list[np.ndarray]:
    """For each player, the hand of the other player with the same cards, or the number of the other
    player's hands; int64 (hands,)."""
    found = []
    base = len(rules.cards)
    keys = [np.sort(hands, axis=1) @ base ** np.arange(hands.shape[1]) for hands in rules.hands]
    for player in range(2):
        own, other = keys[player], keys[1 - player]
        order = np.argsort(other)
        at = np.minimum(np.searchsorted(other, own, sorter=order), len(other) - 1)
        found.append(np.where(other[order[at]] == own, order[at], len(other)))
    return found


def weight_met(rules: CardGame | Weighted, player: int) -> np.ndarray:
    """For every hand of a player, the weights of the other player's hands without a common card,
    summed; float64 (hands,)."""
    other = 1 - player
    weight = rules.weights[other]
    by_card = sums_by_card(rules, other, weight)
    hands = rules.hands[player]
    met = weight.sum() - by_card[hands].sum(axis=1)
    if hands.shape[1] == 2:
        met += np.append(weight, 0.0)[same_hands(rules)[player]]
    return met


def deal_weight(rules: CardGame) -> float:
    """The sum over all pairs of hands without a common card of the products of their weights."""
    return float(rules.weights[0] @ weight_met(rules, 0))


def unfold(rules: CardGame, name: str) -> BettingTree:
    """The betting as a tree, breadth first.

    Raises:
        GameError: The rules break their contract.
    """
    states: list[Any] = [rules.root()]
    parent, step, rounds = [-1], [""], [0]
    kind, player, first_child, children = [], [], [], []
    amounts = []
    known: dict[Any, Any] = {}
    nothing = np.zeros((3, 2))
    at = 0
    while at < len(states):
        state = states[at]
        node = known.get(state)
        if node is None:
            node = known[state] = rules.node(state)
        first_child.append(len(states))
        player.append(-1)
        amounts.append(nothing)
        steps: list[Any] = []
        if isinstance(node, Decision):
            kind.append(DECISION)
            steps = list(node.actions)
            if node.player not in (0, 1) or not steps:
                raise GameError(f"{name}: after {_line(at, parent, step)} there is no decision")
            if len(set(map(str, steps))) != len(steps):
                raise GameError(f"{name}: after {_line(at, parent, step)} two actions are alike")
            player[-1] = node.player
        elif isinstance(node, Deal):
            kind.append(DEAL)
            steps = [None]
            if len(rules.board) + rounds[at] + 2 * rules.hands[0].shape[1] >= len(rules.cards):
                raise GameError(f"{name}: after {_line(at, parent, step)} there is no card left")
        elif isinstance(node, Fold):
            kind.append(FOLD)
            amounts[-1] = np.array([node.utilities] * 3, dtype=np.float64)
        elif isinstance(node, Showdown):
            kind.append(SHOWDOWN)
            amounts[-1] = np.array(node, dtype=np.float64)
        else:
            raise GameError(
                f"{name}: node(...) after {_line(at, parent, step)} must be a Decision, a Deal, "
                f"a Fold or a Showdown, not {type(node).__name__}"
            )
        if not np.isfinite(amounts[-1]).all() or amounts[-1].shape != (3, 2):
            raise GameError(f"{name}: what {_line(at, parent, step)} pays is not finite")
        children.append(len(steps))
        for one in steps:
            states.append(rules.next(state, one))
            parent.append(at)
            step.append("" if one is None else str(one))
            rounds.append(rounds[at] + (one is None))
        at += 1
    return BettingTree(
        kind=np.array(kind, dtype=np.int8),
        player=np.array(player, dtype=np.int8),
        parent=np.array(parent, dtype=np.int64),
        step=tuple(step),
        first_child=np.array(first_child, dtype=np.int64),
        children=np.array(children, dtype=np.int64),
        round=np.array(rounds, dtype=np.int64),
        amounts=np.array(amounts),
    )


def _line(node: int, parent: list[int], step: list[str]) -> str:
    """The steps to a node."""
    steps = []
    while node > 0:
        steps.append(step[node] or "(deal)")
        node = parent[node]
    return repr(" ".join(steps[::-1]))


def deal_boards(rules: CardGame, betting: BettingTree) -> tuple[Boards, ...]:
    """All boards of each round."""
    free = np.setdiff1d(np.arange(len(rules.cards)), rules.board)
    none = np.zeros((1, 0), dtype=np.int64)
    found = [Boards(none, np.zeros(1, dtype=np.int64))]
    for _ in range(betting.rounds):
        before = found[-1].cards
        taken = (before[:, :, None] == free).any(axis=1)
        parent, card = np.nonzero(~taken)
        found.append(Boards(np.column_stack([before[parent], free[card]]), parent))
    return tuple(found)


# ------------------------------------------------------------------------------------- the layout


def _without(hands: np.ndarray, cards: np.ndarray) -> np.ndarray:
    """Whether hands have none of some cards, bool (hands,)."""
    free: np.ndarray = np.logical_not(np.any(np.isin(hands, cards), axis=1))
    return free


class Row(NamedTuple):
    """What a player has done last: an action of a decision of the betting."""

    node: int
    action: int


Last = Row | None
"""None: the player has not acted yet."""


class _Form:
    """The rows of one form: a row is an action of a player at a public node, on one board, and has
    a sequence for every hand.

    Args:
        betting: The betting.
        last: For each player and node, what the player has done last.
        hands: Hands of each player.
        entry_row: For each player, the rows through which the form is entered, by what the player
            has done last.
        prefix: For rounds ``r`` and ``s <= r``, ``prefix[r][s]`` are the boards of round ``s``
            from which those of round ``r`` come.
        nodes: The decisions of the form, parents first.
        rooted: Whether the form is entered through the deal of the hands: an infoset of one action
            for every hand, after the empty sequence.
    """

    def __init__(
        self,
        betting: BettingTree,
        last: list[list[Last]],
        hands: tuple[int, int],
        entry_row: list[dict[Last, int]],
        prefix: list[list[np.ndarray]],
        nodes: list[int],
        *,
        rooted: bool,
    ) -> None:
        self.betting, self.last, self.hands = betting, last, hands
        self.entry_row, self.prefix, self.rooted = entry_row, prefix, rooted
        self.row: dict[int, int] = {}
        self.width: dict[int, int] = {}
        level: dict[int, int] = {}
        by_bucket: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for node in nodes:
            player = int(betting.player[node])
            before = last[player][node]
            inside = before is not None and before.node in level
            level[node] = level[before.node] + 1 if inside and before is not None else 0
            by_bucket[player, level[node], int(betting.children[node])].append(node)
        self.buckets = []
        used = [len(rows) for rows in entry_row]
        for player, depth, actions in sorted(by_bucket):
            members = by_bucket[player, depth, actions]
            counts = [self.n_boards(node) for node in members]
            width, begin = sum(counts), used[player]
            offset = begin
            for node, count in zip(members, counts, strict=True):
                self.row[node], self.width[node] = offset, width
                offset += count
            used[player] += width * actions
            self.buckets.append((player, depth, actions, members, width, begin))
        extra = int(rooted)
        ends = [0]
        for rows, own in zip(used, hands, strict=True):
            ends.append(ends[-1] + extra + rows * own)
        self.ends = ends

    def n_boards(self, node: int) -> int:
        """The boards of a node's round."""
        r = int(self.betting.round[node])
        return len(self.prefix[r][r])

    def row_of(self, player: int, last: Last, round_: int) -> np.ndarray:
        """The row of a player's last action on every board of a round, int64 (boards,)."""
        if last is None or last.node not in self.row:
            return np.full(len(self.prefix[round_][round_]), self.entry_row[player][last])
        board = self.prefix[round_][int(self.betting.round[last.node])]
        return self.row[last.node] + last.action * self.width[last.node] + board

    def sequence(self, player: int, row: Any) -> Any:
        """The sequence of the player's first hand in a row, or in several."""
        return self.ends[player] + int(self.rooted) + row * self.hands[player]

    def form(self, cards: PayoffCards) -> SequenceForm:
        """The sequence form, with its payoffs."""
        parents, buckets = [], []
        for player, hands in enumerate(self.hands):
            if self.rooted:
                parents.append(np.full(hands, self.ends[player]))
                buckets.append((player, 0, 1, hands, self.sequence(player, 0)))
            for owner, depth, actions, nodes, width, row in self.buckets:
                if owner != player:
                    continue
                for node in nodes:
                    above = self.row_of(
                        player, self.last[player][node], int(self.betting.round[node])
                    )
                    first = self.sequence(player, above)
                    parents.append((first[:, None] + np.arange(hands)).ravel())
                first = self.sequence(player, row)
                buckets.append((player, depth + int(self.rooted), actions, width * hands, first))
        table = np.array(buckets, dtype=np.int64).reshape(-1, 5)
        columns = [np.ascontiguousarray(column) for column in table.T]
        of_player, level, actions_of, lanes, sequence = columns
        infosets = [int(lanes[of_player == player].sum()) for player in range(2)]
        return SequenceForm(
            player_infosets=np.array([0, infosets[0], sum(infosets)]),
            player_sequences=np.array(self.ends),
            player_buckets=np.array([0, int((of_player == 0).sum()), len(table)]),
            bucket_level=level,
            bucket_actions=actions_of,
            bucket_lanes=lanes,
            bucket_infoset=np.cumsum(lanes) - lanes,
            bucket_sequence=sequence,
            # To those who divide lanes by hands, there is one hand.
            bucket_stride=lanes,
            bucket_mask=np.zeros(len(table), dtype=np.int64),
            hand_rank=np.array([[0, 1]]),
            infoset_parent=np.concatenate([np.empty(0), *parents]).astype(np.uint32),
            operator=(cards,),
        )


class _Terminals(NamedTuple):
    """Up to :data:`LANES` terminals of the betting, all of one round and kind, which end different
    sequences of both players."""

    kind: int
    nodes: list[int]
    amounts: list[np.ndarray]
    """Per node float64 (players, 3): what a win, a tie and a loss pays."""


class _Compiler:
    """One game of cards on its way to chunks."""

    def __init__(
        self,
        rules: CardGame,
        name: str,
        betting: BettingTree,
        boards: tuple[Boards, ...],
        budget: Budget,
        recipe: Recipe,
    ) -> None:
        self.rules, self.name, self.betting, self.boards = rules, name, betting, boards
        self.limit, self.recipe = budget.limit, recipe
        self.hands = (len(rules.hands[0]), len(rules.hands[1]))
        self.deals = deal_weight(rules)
        self.same = same_hands(rules)
        self.last = self._last_rows()
        self.prefix: list[list[np.ndarray]] = []
        for r, of_round in enumerate(boards):
            before = [one[of_round.parent] for one in self.prefix[-1]] if r else []
            self.prefix.append([*before, np.arange(len(of_round.cards))])
        shows = np.unique(betting.round[betting.kind == SHOWDOWN])
        self.shows = [r in shows for r in range(betting.rounds + 1)]

    def run(self) -> CompiledCardGame:
        """The compiled game."""
        betting, final = self.betting, self.betting.rounds
        lines = self._lines()
        groups = self._groups(lines)
        in_trunk = betting.round < final if lines else np.ones(betting.n_nodes, dtype=bool)
        walks = [self._walks(r) for r in range(final + 1)]
        deal: list[dict[Last, int]] = [{None: 0}, {None: 0}]
        trunk = self._form(in_trunk, deal, self.prefix, rooted=True)
        trunk_form = trunk.form(self._cards(trunk, in_trunk, walks[:-1] if lines else walks))
        place = np.full((betting.n_nodes, 2), -1, dtype=np.int64)
        stride = np.zeros(betting.n_nodes, dtype=np.int64)
        self._note(trunk, -1, place, stride)
        structures, entries = [], []
        alone = [[np.zeros(1, dtype=np.int64)] * (r + 1) for r in range(final + 1)]
        for number, group in enumerate(groups):
            inside = self._below(group)
            rows: list[dict[Last, int]] = [
                {one: k for k, one in enumerate(dict.fromkeys(self.last[p][n] for n in group))}
                for p in range(2)
            ]
            form = self._form(inside, rows, alone, rooted=False)
            structures.append(form.form(self._cards(form, inside, walks[-1:])))
            entries.append(rows)
            self._note(form, number, place, stride)
        rules, name, limit = self.rules, self.name, self.limit

        def number_of(flat: CompiledGame) -> np.ndarray:
            return numbers_of(game, flat)

        game = CompiledCardGame(
            name,
            rules,
            betting,
            self.boards,
            self._chunked(trunk, trunk_form, structures, entries, walks[-1]),
            self._counts(),
            self.deals,
            node_place=place,
            node_stride=stride,
            groups=max(len(groups), 1),
            recipe=self.recipe,
            flatten=lambda: flatten(rules, name, limit),
            number=number_of,
        )
        return game

    def _form(
        self,
        inside: np.ndarray,
        entry_row: list[dict[Last, int]],
        prefix: list[list[np.ndarray]],
        *,
        rooted: bool,
    ) -> _Form:
        nodes = np.flatnonzero(inside & (self.betting.kind == DECISION)).tolist()
        return _Form(self.betting, self.last, self.hands, entry_row, prefix, nodes, rooted=rooted)

    def _last_rows(self) -> list[list[Last]]:
        """For each player and node, what the player has done last."""
        betting = self.betting
        found: list[list[Last]] = [[None], [None]]
        for node in range(1, betting.n_nodes):
            above = int(betting.parent[node])
            for player, own in enumerate(found):
                acted = betting.kind[above] == DECISION and betting.player[above] == player
                row = Row(above, node - int(betting.first_child[above])) if acted else own[above]
                own.append(row)
        return found

    def _lines(self) -> list[int]:
        """The nodes that the last card leads to; none where the board does not change."""
        betting = self.betting
        if not betting.rounds:
            return []
        final = np.flatnonzero(betting.round == betting.rounds)
        return [n for n in final.tolist() if betting.kind[betting.parent[n]] == DEAL]

    def _groups(self, lines: list[int]) -> list[list[int]]:
        """The lines in groups that fit the cache."""
        betting = self.betting
        own = np.where(betting.kind == DECISION, betting.children, 0)
        below = own * np.array(self.hands)[betting.player]
        for node in range(betting.n_nodes - 1, 0, -1):
            below[betting.parent[node]] += below[node]
        sizes = [int(below[line]) + sum(self.hands) for line in lines]
        total = sum(sizes)
        parts = max(1, -(-total // self.recipe.limit)) if lines else 0
        found: list[list[int]] = [[] for _ in range(parts)]
        before = 0
        for line, size in zip(lines, sizes, strict=True):
            found[min(parts - 1, (before + size // 2) * parts // total)].append(line)
            before += size
        return [group for group in found if group]

    def _below(self, group: list[int]) -> np.ndarray:
        """Whether each node is in the subtree of one of some nodes, bool (nodes,)."""
        inside = np.zeros(self.betting.n_nodes, dtype=bool)
        inside[group] = True
        for node in range(min(group) + 1, len(inside)):
            inside[node] |= inside[self.betting.parent[node]]
        return inside

    def _note(self, form: _Form, group: int, place: np.ndarray, stride: np.ndarray) -> None:
        """Note where the sequences of the decisions of a form lie."""
        for node, row in form.row.items():
            player = int(self.betting.player[node])
            place[node] = group, form.sequence(player, row)
            stride[node] = form.width[node] * self.hands[player]

    # ---------------------------------------------------------------------------- the payoffs

    def _cards(
        self, form: _Form, inside: np.ndarray, walks: list[list[list[np.ndarray]]]
    ) -> PayoffCards:
        """The payoffs of a form.

        Args:
            form: The form.
            inside: Whether each node belongs to it.
            walks: For its rounds, those of all boards; a form on one board has the last round, and
                leaves the walks out.
        """
        rules, alone = self.rules, not form.rooted
        group, sequence, amount = [], [], []
        first_board = np.cumsum([0, *(len(own) for own in walks)])
        for r in range(self.betting.rounds + 1):
            ends = np.flatnonzero(
                inside & (self.betting.kind >= FOLD) & (self.betting.round == r)
            ).tolist()
            terminals = self._grouped(form, ends)
            boards = len(form.prefix[r][r])
            share = self._probability(r) / self.deals
            for kind, nodes, amounts in terminals:
                lanes = [*range(len(nodes)), *[0] * (LANES - len(nodes))]
                rows = np.array(
                    [
                        [form.row_of(player, self.last[player][node], r) for node in nodes]
                        for player in range(2)
                    ]
                )
                first = np.stack([form.sequence(player, rows[player]) for player in range(2)])
                pays = share * np.array(amounts).transpose(1, 2, 0)[:, :, lanes]
                for board in range(boards):
                    group.append((len(nodes), board if alone else first_board[r] + board, kind))
                    sequence.append(first[:, lanes, board])
                    amount.append(pays)
        order = sorted(range(len(group)), key=lambda k: group[k][1])
        places, walk = [], []
        used = 0
        for of_round in walks if not alone else []:
            for pair in of_round:
                places.append((used, used + len(pair[0])))
                used += len(pair[0]) + len(pair[1])
                walk += pair
        weights = [np.asarray(own, dtype=np.float64) for own in rules.weights]
        two = rules.hands[0].shape[1] == 2
        same = [
            own if two else np.full(len(own), self.hands[1 - player])
            for player, own in enumerate(self.same)
        ]
        return PayoffCards(
            sizes=np.array([*self.hands, len(rules.cards)]),
            weight=np.concatenate(weights),
            same=np.concatenate(same).astype(np.uint32),
            board=np.array(places, dtype=np.int64).reshape(-1, 2),
            walk=np.concatenate([np.empty(0, dtype=np.uint32), *walk]),
            group=np.array([group[k] for k in order], dtype=np.int64).reshape(-1, 3),
            sequence=_stacked([sequence[k] for k in order], np.int64, LANES),
            amount=_stacked([amount[k] for k in order], np.float64, 3, LANES),
        )

    def _probability(self, r: int) -> float:
        """The probability of each board of a round, given hands that it leaves out."""
        rules = self.rules
        free = len(rules.cards) - len(rules.board) - 2 * rules.hands[0].shape[1]
        return 1.0 / float(np.prod([free - k for k in range(r)]))

    def _grouped(self, form: _Form, ends: list[int]) -> list[_Terminals]:
        """Terminals of one round in groups."""
        found: list[_Terminals] = []
        taken: list[list[set[int]]] = []
        for node in ends:
            rows = [
                int(form.row_of(p, self.last[p][node], int(self.betting.round[node]))[0])
                for p in range(2)
            ]
            for kind, pays in _kinds(self.betting.amounts[node]):
                for one, used in zip(found, taken, strict=True):
                    free = len(one.nodes) < LANES and one.kind == kind
                    if free and not any(rows[p] in used[p] for p in range(2)):
                        break
                else:
                    one, used = _Terminals(kind, [], []), [set(), set()]
                    found.append(one)
                    taken.append(used)
                one.nodes.append(node)
                one.amounts.append(pays)
                for p in range(2):
                    used[p].add(rows[p])
        return found

    def _walks(self, r: int) -> list[list[np.ndarray]]:
        """For every board of a round, the walks of both players."""
        return [self._walks_on(board, r) for board in self.boards[r].cards]

    def _walks_on(self, dealt: np.ndarray, r: int) -> list[np.ndarray]:
        rules = self.rules
        board = (*rules.board, *dealt.tolist())
        codes, levels = [], []
        for player in range(2):
            live = np.flatnonzero(_without(rules.hands[player], dealt))
            strength = np.zeros(len(live), dtype=np.int64)
            if self.shows[r] and len(live):
                strength = np.asarray(rules.strength(board, rules.hands[player][live]))
            order = np.argsort(strength, kind="stable")
            hand = live[order]
            cards = rules.hands[player][hand]
            code = hand | cards[:, 0] << HAND_BITS
            if cards.shape[1] == 2:
                both = code | cards[:, 1] << (HAND_BITS + CARD_BITS)
                codes.append((both, both))
            else:
                none = len(rules.cards)
                shift = HAND_BITS + CARD_BITS
                codes.append((code | none << shift, code | (none + 1) << shift))
            levels.append(strength[order])
        _, place = np.unique(np.concatenate(levels), return_inverse=True)
        count = int(place.max()) + 1 if len(place) else 0
        per_level = [np.bincount(own, minlength=count) for own in np.split(place, [len(levels[0])])]
        found = []
        for player in range(2):
            other = 1 - player
            head = np.array([count, len(levels[player]), len(levels[other])])
            pairs = np.stack([per_level[player], per_level[other]], axis=1).ravel()
            parts = [head, pairs, codes[player][0], codes[other][1]]
            found.append(np.concatenate(parts).astype(np.uint32))
        return found

    # ------------------------------------------------------------------------------ the chunks

    def _chunked(
        self,
        trunk: _Form,
        trunk_form: SequenceForm,
        structures: list[SequenceForm],
        entries: list[list[dict[Last, int]]],
        walks: list[list[np.ndarray]],
    ) -> ChunkedForm:
        """All of it, chunk by chunk: board by board, and group by group."""
        boards = len(walks) if structures else 0
        final = self.betting.rounds
        pools: dict[str, list[np.ndarray]] = {"int64": [], "uint32": [], "float64": []}
        used = dict.fromkeys(pools, 0)

        def put(array: np.ndarray) -> tuple[int, int, int]:
            kind = str(array.dtype)
            begin = used[kind]
            used[kind] += array.size
            pools[kind].append(array.ravel())
            return begin, array.size, array.shape[-1]

        bases = []
        for form in structures:
            arrays = dict(named_arrays(form))
            bases.append([put(arrays[name]) for name in CARD_FIELDS])
        place = np.zeros((boards * len(structures), len(CARD_FIELDS), 3), dtype=np.int64)
        walk, begins = CARD_FIELDS.index("cards/walk"), CARD_FIELDS.index("cards/board")
        for board in range(boards):
            own = put(np.concatenate(walks[board]))
            begin = put(np.array([[0, len(walks[board][0])]]))
            for number, base in enumerate(bases):
                here = place[board * len(bases) + number]
                here[:] = base
                here[walk], here[begins] = own, begin
        integers, indices, reals = (
            np.concatenate([np.empty(0, dtype=kind), *parts]) for kind, parts in pools.items()
        )
        shapes = CardShapes(place, integers, indices, reals)
        listed = []
        counts = np.zeros((len(place), 2), dtype=np.int64)
        sequences = [
            [
                np.array([trunk.sequence(p, trunk.row_of(p, one, final)) for one in rows[p]])
                for p in range(2)
            ]
            for rows in entries
        ]
        for board in range(boards):
            for number, both in enumerate(sequences):
                for p, of_row in enumerate(both):
                    entered = of_row[:, board, None] + np.arange(self.hands[p])
                    listed.append(entered.astype(np.uint32).ravel())
                    counts[board * len(bases) + number, p] = entered.size
        offset = np.zeros((len(place), 3), dtype=np.int64)
        np.cumsum(counts, axis=1, out=offset[:, 1:])
        offset += (np.cumsum(counts.sum(axis=1)) - counts.sum(axis=1))[:, None]
        sizes = np.append(trunk_form.n_sequences, shapes.sequences if len(place) else [])
        return ChunkedForm(
            trunk=trunk_form,
            shapes=shapes,
            shape=np.arange(len(place)),
            first=np.cumsum(-(-sizes.astype(np.int64) // ROW) * ROW),
            entry_offset=offset,
            entry=np.concatenate([np.empty(0, dtype=np.uint32), *listed]),
        )

    def _possible(self, player: int, r: int) -> int:
        """How many pairs of a board of a round and a hand of a player there are, where the other
        player has a hand that goes with them."""
        rules = self.rules
        hands = rules.hands
        met = weight_met(Weighted(rules, [np.ones(own) for own in self.hands]), player)
        ones = np.ones(self.hands[1 - player])
        if met.min(initial=np.inf) > r * sums_by_card(rules, 1 - player, ones).max():
            # Cards on the board cannot take all hands from the other player.
            free = len(rules.cards) - len(rules.board) - hands[0].shape[1]
            return len(met) * int(np.prod([free - k for k in range(r)], dtype=np.int64))
        found = 0
        for dealt in self.boards[r].cards:
            live = [_without(own, dealt).astype(np.float64) for own in hands]
            found += int(
                ((weight_met(Weighted(rules, live), player) > 0) & (live[player] > 0)).sum()
            )
        return found

    def _counts(self) -> Counts:
        """What there is of the game."""
        betting, rules = self.betting, self.rules
        ones: list[np.ndarray] = [np.ones(hands) for hands in self.hands]
        first = weight_met(Weighted(rules, ones), 0)
        pairs = int(first.sum())
        free = len(rules.cards) - len(rules.board)
        taken = rules.hands[0].shape[1]
        infosets = sequences = decisions = 0
        histories = 1 + int((first > 0).sum())
        public = 0
        for r in range(betting.rounds + 1):
            here = betting.round == r
            acts = here & (betting.kind == DECISION)
            public += int(here.sum()) * len(self.boards[r].cards)
            dealt = int(np.prod([free - 2 * taken - k for k in range(r)], dtype=np.int64))
            histories += int(here.sum()) * pairs * dealt
            decisions += int(acts.sum()) * pairs * dealt
            for player in range(2):
                mine = acts & (betting.player == player)
                if mine.any():
                    hands = self._possible(player, r)
                    infosets += int(mine.sum()) * hands
                    sequences += int(betting.children[mine].sum()) * hands
        return Counts(
            infosets=infosets,
            sequences=sequences + 2,
            histories=histories,
            decision_nodes=decisions,
            public_nodes=public,
        )


class Weighted(NamedTuple):
    """The rules, with other weights."""

    rules: CardGame
    weights: list[np.ndarray]

    @property
    def cards(self) -> Any:
        """Those of the rules."""
        return self.rules.cards

    @property
    def hands(self) -> Any:
        """Those of the rules."""
        return self.rules.hands


def _stacked(items: list[np.ndarray], kind: type, *shape: int) -> np.ndarray:
    """Items (2, ...) as an array (2, items, ...)."""
    stacked: np.ndarray = np.array(items, dtype=kind).reshape(len(items), 2, *shape)
    return np.ascontiguousarray(stacked.swapaxes(0, 1))


def _kinds(amounts: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """A terminal as one or two of the kinds that :class:`PayoffCards` takes: each with what a win,
    a tie and a loss pays both players, float64 (players, 3)."""
    pays = np.stack([amounts[:, 0], amounts[::-1, 1]])
    if (pays == pays[:, :1]).all():
        return [(cards_part.FOLD, pays)]
    size = np.abs(pays).max()
    if (np.abs(pays[:, 0] - pays[:, 2]) > 1e-3 * size).all():
        ties = pays[:, 1].any()
        return [(cards_part.TIES_PAY if ties else cards_part.SHOWDOWN, pays)]
    # A win that pays like a loss is the mean of two that do not.
    apart = 2.0 * size * np.array([1.0, 0.0, -1.0])
    return [(cards_part.TIES_PAY, (pays + sign * apart) / 2.0) for sign in (1.0, -1.0)]


# ---------------------------------------------------------------------------------- the flat game


class HandByHand(PublicTreeGame):
    """A game of cards with every pair of hands spelled out, for small decks.

    Args:
        rules: The game of cards.
    """

    def __init__(self, rules: CardGame) -> None:
        self.rules = rules
        self.hands = [
            [rules.hand_label(player, hand) for hand in range(len(rules.hands[player]))]
            for player in range(2)
        ]
        own, other = rules.hands
        shared = (own[:, None, :, None] == other[None, :, None, :]).any(axis=(2, 3))
        weight = np.outer(*rules.weights) * ~shared
        self.prior = weight / weight.sum()

    @property
    def name(self) -> str:
        """As the game of cards."""
        return self.rules.name

    def root(self) -> tuple[Any, tuple[int, ...]]:
        """The state of the betting, and the cards that were dealt."""
        return self.rules.root(), ()

    def node(self, state: tuple[Any, tuple[int, ...]]) -> Decision | Chance | Payoff:
        """As the game of cards."""
        betting, dealt = state
        node = self.rules.node(betting)
        if isinstance(node, Decision):
            return node
        if isinstance(node, Deal):
            return Chance(self._cards(dealt))
        if isinstance(node, Fold):
            return Payoff(1.0, (node.utilities,) * 3)
        return Payoff(1.0, (*node, dealt))

    def _cards(self, dealt: tuple[int, ...]) -> dict[Any, np.ndarray]:
        """The probability of each card, given the hands."""
        rules = self.rules
        public = (*rules.board, *dealt)
        free = len(rules.cards) - len(public) - 2 * rules.hands[0].shape[1]
        found = {}
        for card, label in enumerate(rules.cards):
            if card in public:
                continue
            out = [~(hands == card).any(axis=1) for hands in rules.hands]
            found[label] = np.outer(*out) / free
        return found

    def next(self, state: tuple[Any, tuple[int, ...]], action: Any) -> tuple[Any, tuple[int, ...]]:
        """As the game of cards."""
        betting, dealt = state
        if isinstance(self.rules.node(betting), Deal):
            card = list(self.rules.cards).index(action)
            return self.rules.next(betting, None), (*dealt, card)
        return self.rules.next(betting, action), dealt

    def matrix(self, key: Any) -> np.ndarray:
        """What every pair of hands is paid."""
        win, tie, lose, *board = key
        if not board:
            return np.array([np.full(self.prior.shape, win[player]) for player in range(2)])
        cards = (*self.rules.board, *board[0])
        own, other = (np.zeros(len(hands), dtype=np.int64) for hands in self.rules.hands)
        for strength, hands in zip((own, other), self.rules.hands, strict=True):
            live = _without(hands, np.array(cards))
            strength[live] = self.rules.strength(cards, hands[live])
        ahead = np.sign(own[:, None] - other)
        return np.array(
            [np.where(ahead > 0, win[p], np.where(ahead < 0, lose[p], tie[p])) for p in range(2)]
        )


def flatten(rules: CardGame, name: str, limit: int) -> CompiledGame:
    """The game as one flat form, with arrays of hands x hands.

    Raises:
        MemoryLimitError: There is not enough memory for that; says both figures.
    """
    betting = unfold(rules, name)
    boards = sum(len(of_round.cards) for of_round in deal_boards(rules, betting))
    needed = 8 * 4 * boards * len(rules.hands[0]) * len(rules.hands[1])
    if needed > limit:
        raise MemoryLimitError(f"laying out {name} hand by hand", needed, limit)
    with budget_for(f"laying out {name}", limit) as own:
        return public_game.compile_rules(HandByHand(rules), name, own, symmetry=False)


def numbers_of(game: CompiledCardGame, flat: CompiledGame) -> np.ndarray:
    """For every sequence of the flat game, its number in a solver's arrays, int64 (sequences,)."""
    assert flat.public is not None
    tree, form, edges = flat.public.tree, flat.form, flat.public.edges
    betting = game.betting
    cards = {str(card): number for number, card in enumerate(game.rules.cards)}
    at = np.zeros((tree.n_nodes, 2), dtype=np.int64)
    after = [
        {
            (int(parent), int(cards_[-1])): number
            for number, (cards_, parent) in enumerate(zip(*of_round, strict=True))
        }
        if number_of_cards
        else {}
        for number_of_cards, of_round in enumerate(game.boards)
    ]
    for node in range(1, tree.n_nodes):
        above, board = at[tree.parent[node]].tolist()
        label = edges[tree.edge[node]]
        first, count = int(betting.first_child[above]), int(betting.children[above])
        if betting.kind[above] == DEAL:
            at[node] = first, after[int(betting.round[first])][board, cards[label]]
        else:
            at[node] = first + betting.step[first : first + count].index(label), board
    found = np.empty(form.n_sequences, dtype=np.int64)
    found[form.player_sequences[:-1]] = game.chunks.trunk.player_sequences[:-1]
    deciding = np.flatnonzero(tree.bucket >= 0)
    for node in deciding.tolist():
        b, rank = int(tree.bucket[node]), int(tree.rank[node])
        held = np.flatnonzero(np.diff(form.hand_rank[form.bucket_mask[b]]))
        lanes, stride = int(form.bucket_lanes[b]), int(form.bucket_stride[b])
        place = game.place(*at[node].tolist())
        lane = np.arange(len(held)) * stride + rank
        for action in range(int(form.bucket_actions[b])):
            sequence = int(form.bucket_sequence[b]) + action * lanes + lane
            found[sequence] = place.first + action * place.stride + held
    return found
