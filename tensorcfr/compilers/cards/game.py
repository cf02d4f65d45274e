"""From the rules of a game of cards to a trunk and chunks.

The trunk is the betting before the last card; a chunk is the betting after it, on one board, for
some of the lines that lead there.  Boards with equal classes of hands share the structure of a
chunk: hands that have a card of the board keep their lanes, and the payoffs leave them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..._util.growing import GrowingArray
from ..._util.memory import Budget
from ...invariants import check_chunks, check_form
from ...model.arrays import SequenceForm, named_arrays
from ...model.cards import DEAL, DECISION, FOLD, BettingTree, Boards, Symmetry
from ...model.chunks import (
    CARD_FIELDS,
    CardShapes,
    CardShapesBesideEntries,
    Entered,
    Pools,
    chunked,
    tiled,
    trunk_alone,
)
from ...model.cut_game import CutGame, Recipe
from ...rules import CardGame
from ..sizes.counted import count_betting, count_cards, sequences_of_chunk, size_of_cards
from .flat import flatten
from .form import CardForm, Last, SomeBoards, Wait, last_acts
from .nodes import CardNodes
from .payoffs import Payoffs
from .rules import check, deal_boards, unfold
from .symmetry import symmetry_of


def compile_rules(
    rules: CardGame,
    name: str,
    budget: Budget,
    *,
    symmetric: bool = True,
    source: str | None = None,
    limit: int | None = None,
) -> CutGame:
    """Compile a game of cards into chunks.

    Args:
        rules: The rules.
        name: What the game is called.
        budget: The bytes that compiling may take.
        symmetric: Whether boards that are alike are solved once, and hands that are alike on a
            board, too.
        source: Name and parameters of a built-in game, which files keep.
        limit: Sequences that a chunk may have, if it has several lines; by default what the cache
            of this machine says.

    Raises:
        GameError: The rules break their contract.
        MemoryLimitError: The game would need more than the budget.
    """
    check(rules, name)
    budget.reserve(int(size_of_cards(rules, name, symmetric=symmetric).bytes_compiling))
    betting = unfold(rules, name)
    boards = deal_boards(rules, betting)
    symmetry = symmetry_of(rules, name, boards, symmetric=symmetric)
    if limit is None:
        limit = sequences_of_chunk()
    recipe = Recipe(source, True, limit, symmetry=symmetric)
    return _Compiler(rules, name, betting, boards, symmetry, budget.limit, recipe).run()


@dataclass
class _Compiler:
    """One game of cards on its way to chunks."""

    rules: CardGame
    name: str
    betting: BettingTree
    boards: tuple[Boards, ...]
    symmetry: Symmetry
    limit: int
    """Bytes that laying it out may take, if the caller says nothing else."""
    recipe: Recipe

    def __post_init__(self) -> None:
        self.hands = (len(self.rules.hands[0]), len(self.rules.hands[1]))
        self.last = last_acts(self.betting)
        self.payoffs = Payoffs(self.rules, self.betting, self.boards, self.symmetry, self.last)

    def run(self) -> CutGame:
        """The compiled game."""
        betting, final, symmetry = self.betting, self.betting.rounds, self.symmetry
        lines = self._lines()
        groups = self._groups(lines)
        in_trunk = betting.round < final if lines else np.ones(betting.n_nodes, dtype=bool)
        walks = [list(self.payoffs.walks(r)) for r in range(final if lines else final + 1)]
        everywhere = SomeBoards(
            symmetry,
            [np.arange(len(of_round.board)) for of_round in symmetry.rounds],
            [of_round.parent for of_round in symmetry.rounds],
        )
        deals = [1 + int(everywhere.begin[player][0][-1]) for player in range(2)]
        trunk = self._form(in_trunk, everywhere, [{None: 1}, {None: 1}], deals, rooted=True)
        trunk_form = trunk.form(self.payoffs.of(trunk, in_trunk, walks))
        if self.payoffs.by_pairs:
            before = self.payoffs.entries(trunk)
            trunk_form = trunk_form._replace(operator=(before, *trunk_form.operator))
        kinds = len(symmetry.classes)
        place = np.full((kinds, betting.n_nodes, 2), -1, dtype=np.int64)
        stride = np.zeros((kinds, betting.n_nodes), dtype=np.int64)
        self._note(trunk, -1, place, stride)
        structures: dict[int, list[SequenceForm]] = {}
        entries: list[list[list[Last]]] = [
            [list(dict.fromkeys(self.last[p][n] for n in group)) for p in range(2)]
            for group in groups
        ]
        solved = len(symmetry.rounds[-1].board) if groups else 0
        for kind in np.unique(symmetry.rounds[-1].classes).tolist() if groups else []:
            structures[kind] = []
            alone = self._alone(kind)
            for number, (group, entered) in enumerate(zip(groups, entries, strict=True)):
                inside = self._below(group)
                count = [int(alone.n_classes(p, final)[0]) for p in range(2)]
                form = self._form(
                    inside,
                    alone,
                    [{one: k * count[p] for k, one in enumerate(entered[p])} for p in range(2)],
                    [len(entered[p]) * count[p] for p in range(2)],
                    rooted=False,
                )
                structures[kind].append(form.form(self.payoffs.of(form, inside, [])))
                self._note(form, number, place[kind : kind + 1], stride[kind : kind + 1])
        # Chunk by chunk: board by board, and group by group.
        shapes = self._shapes(structures, len(entries), solved)
        if self.payoffs.by_pairs:
            shapes = CardShapesBesideEntries.of(shapes)
        below = self._entries(trunk, entries, solved)
        chunks = chunked(trunk_form, shapes, np.arange(shapes.n_shapes), below)
        if self.payoffs.by_pairs and not betting.rounds:
            # Nothing is paid by cards: the game is like any that is laid out, to kernels, too.
            chunks = trunk_alone(trunk_form._replace(operator=trunk_form.operator[:1]))
            check_form(chunks.trunk)
        else:
            check_chunks(chunks)
        rules, name, budget_limit = self.rules, self.name, self.limit
        nodes = CardNodes(
            name_of_game=name,
            rules=rules,
            betting=betting,
            boards=self.boards,
            symmetry=symmetry,
            dealing=self.payoffs.dealing,
            board_begin=everywhere.begin,
            node_place=place,
            node_stride=stride,
            groups=max(len(groups), 1),
            chunk_base=chunks.base,
        )
        return CutGame(
            name,
            chunks,
            nodes,
            count_cards(rules, *count_betting(rules, name)),
            recipe=self.recipe,
            utilities=betting.amounts[betting.kind >= FOLD].reshape(-1, 2),
            merges_hands=not symmetry.is_trivial,
            lay_out=lambda limit: flatten(rules, name, budget_limit if limit is None else limit),
        )

    def _alone(self, kind: int) -> SomeBoards:
        """A board of the last round with some classes of hands, and those before it."""
        rounds = self.symmetry.rounds
        chain = [int(np.flatnonzero(rounds[-1].classes == kind)[0])]
        for of_round in rounds[:0:-1]:
            chain.append(int(of_round.parent[chain[-1]]))
        zero = np.zeros(1, dtype=np.int64)
        return SomeBoards(
            self.symmetry, [np.array([board]) for board in chain[::-1]], [zero] * len(chain)
        )

    def _form(
        self,
        inside: np.ndarray,
        where: SomeBoards,
        entry: list[Mapping[Last, int]],
        entries: list[int],
        *,
        rooted: bool,
    ) -> CardForm:
        nodes = np.flatnonzero(inside & (self.betting.kind != DEAL)).tolist()
        return CardForm(self.betting, self.last, where, entry, entries, nodes, rooted=rooted)

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
        for node, first in form.first.items():
            if isinstance(node, Wait):
                continue
            place[:, node] = group, form.ends[int(self.betting.player[node])] + first
            stride[:, node] = form.width[node]

    def _shapes(
        self, structures: dict[int, list[SequenceForm]], groups: int, boards: int
    ) -> CardShapes:
        """The chunks as shapes: each has its walks, and the amounts of the boards that it is solved
        for; the rest lies in the pools once for all boards with equal classes of hands."""
        pools = Pools()
        bases: dict[int, list[list[tuple[int, int, int]]]] = {}
        amounts: dict[tuple[int, int, float], tuple[int, int, int]] = {}
        arrays = {
            kind: [dict(named_arrays(form)) for form in forms] for kind, forms in structures.items()
        }
        for kind, forms_of in arrays.items():
            bases[kind] = [[pools.put(own[name]) for name in CARD_FIELDS] for own in forms_of]
        place = np.zeros((boards * groups, len(CARD_FIELDS), 3), dtype=np.int64)
        walk, begins = CARD_FIELDS.index("cards/walk"), CARD_FIELDS.index("cards/board")
        pays = CARD_FIELDS.index("cards/amount")
        last, solved_for = self.symmetry.rounds[-1], self.payoffs.solved_for[-1]
        walks = self.payoffs.walks(len(self.symmetry.rounds) - 1) if boards else ()
        for board, both in enumerate(walks):
            own = pools.put(np.concatenate(both))
            begin = pools.put(np.array([[0, len(both[0]), 0]]))
            kind, alike = int(last.classes[board]), float(solved_for[board])
            for number, base in enumerate(bases[kind]):
                here = place[board * groups + number]
                here[:] = base
                here[walk], here[begins] = own, begin
                if alike != 1.0:
                    key = kind, number, alike
                    if key not in amounts:
                        amounts[key] = pools.put(arrays[kind][number]["cards/amount"] * alike)
                    here[pays] = amounts[key]
        return CardShapes(place, *pools.finish())

    def _entries(self, trunk: CardForm, entries: list[list[list[Last]]], boards: int) -> Entered:
        """How each chunk is entered: line by line, with the classes of hands on its board."""
        final, beyond = self.betting.rounds, GrowingArray(np.uint32)
        known: dict[tuple[int, int, int], int] = {}
        every = [
            (number, p, line)
            for number, both in enumerate(entries)
            for p, lines in enumerate(both)
            for line in lines
        ]
        counts = np.zeros((2, boards, len(entries), 2), dtype=np.int64)
        row = np.zeros((boards, len(every), 3), dtype=np.uint32)
        for nth, (number, p, line) in enumerate(every):
            kinds = [(p, *own) for own in trunk.where.kinds(final, trunk.round_of(line))]
            for key in dict.fromkeys(kinds):
                if key not in known:
                    known[key] = beyond.append(trunk.where.between(*key))
            row[:, nth, 0] = classes = self.symmetry.n_classes(p, final)
            row[:, nth, 1] = trunk.sequences(p, line, final)
            row[:, nth, 2] = [known[key] for key in kinds]
            counts[:, :, number, p] += classes, np.ones_like(classes)
        entry_offset, row_offset = (tiled(own.reshape(-1, 2)) for own in counts)
        return Entered(entry_offset, row_offset, row.reshape(-1, 3), beyond.finish())
