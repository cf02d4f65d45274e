"""From the rules of a game of cards to a trunk and chunks.

The trunk is the betting before the last card; a chunk is the betting after it, on one board, for
some of the lines that lead there.  All boards share the structure of a chunk: hands that have a
card of the board keep their lanes, and the payoffs leave them out.
"""

from __future__ import annotations

import numpy as np

from .._util.caches import second_level_cache
from .._util.memory import Budget
from ..model.arrays import SequenceForm, named_arrays
from ..model.card_game import DEAL, DECISION, BettingTree, Boards, CompiledCardGame
from ..model.chunks import CARD_FIELDS, ROW, CardShapes, ChunkedForm
from ..model.cut_game import Recipe
from ..model.game import CompiledGame
from ..rules import CardGame
from .card_betting import deal_boards, unfold
from .card_counts import counts_of
from .card_flat import flatten, numbers_of
from .card_form import CardForm, Last, last_rows
from .card_payoffs import Payoffs
from .card_rules import check
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
        self.last = last_rows(betting)
        self.prefix: list[list[np.ndarray]] = []
        for r, of_round in enumerate(boards):
            before = [one[of_round.parent] for one in self.prefix[-1]] if r else []
            self.prefix.append([*before, np.arange(len(of_round.cards))])
        self.payoffs = Payoffs(rules, betting, boards, self.last)

    def run(self) -> CompiledCardGame:
        """The compiled game."""
        betting, final = self.betting, self.betting.rounds
        lines = self._lines()
        groups = self._groups(lines)
        in_trunk = betting.round < final if lines else np.ones(betting.n_nodes, dtype=bool)
        walks = [self.payoffs.walks(r) for r in range(final + 1)]
        deal: list[dict[Last, int]] = [{None: 0}, {None: 0}]
        trunk = self._form(in_trunk, deal, self.prefix, rooted=True)
        trunk_form = trunk.form(self.payoffs.of(trunk, in_trunk, walks[:-1] if lines else walks))
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
            structures.append(form.form(self.payoffs.of(form, inside, walks[-1:])))
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
            counts_of(rules, betting, self.boards),
            self.payoffs.deals,
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
    ) -> CardForm:
        nodes = np.flatnonzero(inside & (self.betting.kind == DECISION)).tolist()
        return CardForm(
            self.betting, self.last, self.hands, entry_row, prefix, nodes, rooted=rooted
        )

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

    def _note(self, form: CardForm, group: int, place: np.ndarray, stride: np.ndarray) -> None:
        """Note where the sequences of the decisions of a form lie."""
        for node, row in form.row.items():
            player = int(self.betting.player[node])
            place[node] = group, form.sequence(player, row)
            stride[node] = form.width[node] * self.hands[player]

    # ------------------------------------------------------------------------------ the chunks

    def _chunked(
        self,
        trunk: CardForm,
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
