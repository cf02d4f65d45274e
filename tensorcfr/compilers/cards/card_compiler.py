"""Compiler of card games into a trunk and chunks.

The trunk is the betting before the last deal, or before an earlier one.  A chunk is the betting
between one deal and the next on one board, for some of the lines that lead there.  Boards with
equal classes of hands share the structure of a chunk.  Hands that share a card with the board keep
their lanes there, and the payoffs exclude them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..._util.growing import GrowingArray
from ...errors import GameError
from ...model.arrays import named_arrays
from ...model.card_structure import DEAL, DECISION, FOLD, BettingTree, RoundBoards, Symmetry
from ...model.chunked_form import (
    ChunkedForm,
    ChunkShapes,
    Entered,
    Pools,
    as_trunk,
    chunked,
    fields_of,
    tiled,
)
from ...model.chunked_game import ChunkedGame, Counts
from ...model.compiled_game import Recipe
from ...model.flat_game import FlatGame
from ...payoff import KIND_OF_CLASS, PayoffEntries
from ...rules import CardGame
from ..compilation import Compilation
from ..invariants import check_chunks, check_form
from ..sizes.counted import (
    count_betting,
    count_cards,
    deal_to_cut_at,
    sequences_of_chunk,
    size_of_cards,
)
from .card_public_nodes import CardNodes
from .card_sums import Dealing, check, deal_boards, unfold
from .card_symmetry import symmetry_of
from .form import CardForm, Last, SomeBoards, Wait, last_acts
from .payoffs import PayoffBuilder, Payoffs
from .three_hand_payoffs import ThreeHandPayoffs
from .triple_payoffs import triple_payoffs


def lay_out(
    rules: CardGame, compilation: Compilation, lay_out_flat: Callable[[int | None], FlatGame]
) -> ChunkedGame:
    """Lay out a card game in chunks.

    ``lay_out_flat`` compiles the flat game under a memory limit.

    Raises:
        GameError: The rules break their contract.
        ValueError: There is no such deal to cut at.
        MemoryLimitError: The game would need more than the budget.
    """
    name, symmetric, cut = compilation.name, compilation.symmetry, compilation.cut
    check(rules, name)
    counted = count_betting(rules, name, is_compiled=True)
    deals = counted.deals
    cut = deal_to_cut_at(rules, name, counted, symmetric=symmetric, cut=cut)
    size = size_of_cards(rules, name, symmetric=symmetric, cut=cut, betting=counted)
    compilation.memory.reserve(int(size.bytes_compiling))
    betting = unfold(rules, name)
    boards = deal_boards(rules, betting)
    symmetry = symmetry_of(rules, name, boards, symmetric=symmetric)
    if compilation.bucketed is not None:
        symmetry = compilation.bucketed(boards, symmetry)
    limit = sequences_of_chunk(rules) if compilation.limit is None else compilation.limit
    # Files of games that are cut once store True, except those of three players.
    where = True if cut == len(deals) and (rules.n_players == 2 or not deals) else cut
    recipe = Recipe(compilation.source, where, limit, symmetry=symmetric)
    counts = count_cards(rules, counted.table, deals)
    compiler = _Compiler(rules, name, betting, boards, symmetry, counts, lay_out_flat, recipe, cut)
    return compiler.run()


@dataclass
class _Compiler:
    """Card game that is being compiled into chunks."""

    rules: CardGame
    name: str
    betting: BettingTree
    boards: tuple[RoundBoards, ...]
    symmetry: Symmetry
    counts: Counts
    lay_out_flat: Callable[[int | None], FlatGame]
    """Function that compiles the flat game under a memory limit."""
    recipe: Recipe
    first: int
    """Deal after which chunks begin, from :func:`deal_to_cut_at`."""

    def __post_init__(self) -> None:
        self.hands = tuple(map(len, self.rules.hands))
        self.players = range(len(self.hands))
        self.last = last_acts(self.betting)
        self.streets = range(max(self.first, 1), self.betting.rounds + 1)
        """Rounds that are in chunks."""

    def run(self) -> ChunkedGame:
        """Compile the game."""
        betting, symmetry = self.betting, self.symmetry
        arguments = self.rules, betting, self.boards, symmetry, self.last
        everywhere = SomeBoards(
            symmetry,
            [np.arange(len(of_round.board)) for of_round in symmetry.rounds],
            [of_round.parent for of_round in symmetry.rounds],
        )
        self.payoffs: PayoffBuilder = (
            ThreeHandPayoffs(*arguments)
            if len(self.hands) > 2
            else Payoffs(*arguments, is_whole=self.streets.start > betting.rounds > 0)
        )
        groups = {r: self._groups(r) for r in self.streets}
        before = self.streets.start
        in_trunk = betting.round < before
        on_boards = [list(self.payoffs.on_boards(r)) for r in range(before)]
        deals = [1 + int(begin[0][-1]) for begin in everywhere.begin]
        entry: list[Mapping[Last, int]] = [{None: 1} for _ in deals]
        trunk = self._form(in_trunk, everywhere, entry, deals, rooted=True)
        trunk_form = trunk.form(self.payoffs.of(trunk, in_trunk, on_boards))
        if self.payoffs.by_pairs:
            pairs = self.payoffs.entries(trunk)
            trunk_form = trunk_form._replace(operator=(pairs, *trunk_form.operator))
        shape = len(symmetry.played), betting.n_nodes
        place, stride = np.full((*shape, 2), -1, np.int64), np.zeros(shape, np.int64)
        self._record_positions(trunk, -1, place, stride)
        forms: dict[tuple[int, int], list[CardForm]] = {}
        for r in self.streets:
            for kind in np.unique(symmetry.rounds[r].played).tolist():
                forms[r, kind] = [self._chunk_form(r, kind, group) for group in groups[r]]
                for number, form in enumerate(forms[r, kind]):
                    self._record_positions(
                        form, number, place[kind : kind + 1], stride[kind : kind + 1]
                    )
        numbers = self._numbers(groups)
        shapes = self._shapes(forms, groups, numbers)
        if self.payoffs.by_pairs:
            shapes = shapes.with_empty_parts((PayoffEntries,))
        below = self._entries(trunk, forms, groups, numbers)
        # Each chunk is a shape of its own, because the order of the hands belongs to its board.
        chunks = chunked(trunk_form, shapes, np.arange(shapes.n_shapes), below)
        is_plain = self.payoffs.by_pairs and not betting.rounds
        if is_plain:
            # All payoffs are single entries.
            trunk_form = trunk_form._replace(operator=trunk_form.operator[:1])
        elif len(self.hands) > 2:
            is_plain = not self.streets
            runouts = triple_payoffs(
                self.rules, self.name, trunk, betting, self.last, symmetry, self.payoffs.dealing
            )
            if runouts and self.streets:
                raise GameError(f"{self.name} has three players, so a Runout needs a last round")
            trunk_form = trunk_form._replace(operator=trunk_form.operator + runouts)
        if is_plain:
            # Kernels can treat the game as an ordinary flat form.
            chunks = as_trunk(trunk_form)
            check_form(chunks.trunk)
        else:
            check_chunks(chunks)
        return self._game(chunks, everywhere, self.payoffs.dealing, place, stride, numbers)

    def _game(
        self,
        chunks: ChunkedForm,
        everywhere: SomeBoards,
        dealing: Dealing,
        place: np.ndarray,
        stride: np.ndarray,
        numbers: dict[int, np.ndarray],
    ) -> ChunkedGame:
        """Make the game from its arrays, and from the positions of decisions and chunks."""
        betting, symmetry = self.betting, self.symmetry
        nodes = CardNodes(
            name_of_game=self.name,
            rules=self.rules,
            betting=betting,
            boards=self.boards,
            symmetry=symmetry,
            dealing=dealing,
            board_begin=everywhere.begin,
            node_place=place,
            node_stride=stride,
            chunks=numbers,
            chunk_sequence_offset=chunks.sequence_offset,
        )
        return ChunkedGame(
            self.name,
            chunks,
            nodes,
            self.counts,
            recipe=self.recipe,
            utilities=betting.amounts[betting.kind >= FOLD].reshape(-1, self.rules.n_players),
            merges_hands=not symmetry.is_trivial,
            lay_out=self.lay_out_flat,
        )

    def _chunk_form(self, r: int, kind: int, group: list[int]) -> CardForm:
        """Build the form of a chunk on one board of a round.

        Args:
            r: The round.
            kind: The kind of the board; any board of that kind serves as the example.
            group: The first nodes of the chunk's lines.
        """
        rounds = self.symmetry.rounds[: r + 1]
        chain = [int(np.flatnonzero(rounds[-1].played == kind)[0])]
        # The boards before the example, from the last round back to the first.
        for of_round in rounds[:0:-1]:
            chain.append(int(of_round.parent[chain[-1]]))
        zero = np.zeros(1, dtype=np.int64)
        where = SomeBoards(
            self.symmetry, [np.array([board]) for board in chain[::-1]], [zero] * len(chain)
        )
        entered = self._entered(group)
        count = [int(where.n_classes(p, r)[0]) for p in self.players]
        return self._form(
            self._inside(r, group),
            where,
            [{act: k * count[p] for k, act in enumerate(entered[p])} for p in self.players],
            [len(entered[p]) * count[p] for p in self.players],
            rooted=False,
        )

    def _entered(self, group: list[int]) -> list[list[Last]]:
        """Return the last actions through which a group of lines is entered, for each player."""
        return [list(dict.fromkeys(self.last[p][n] for n in group)) for p in self.players]

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

    def _groups(self, r: int) -> list[list[int]]:
        """Group the lines after the last deal before a round so that each group fits the cache.

        All lines are in one group if more cards are dealt later.
        """
        betting = self.betting
        nodes = np.flatnonzero(betting.round == r).tolist()
        lines = [n for n in nodes if betting.kind[betting.parent[n]] == DEAL]
        if r < betting.rounds:
            return [lines]
        actions = np.where(betting.kind == DECISION, betting.children, 0)
        below = actions * np.array(self.hands)[betting.player]
        # Children have larger numbers than their parents, so their sums are complete here.
        for node in range(betting.n_nodes - 1, 0, -1):
            below[betting.parent[node]] += below[node]
        sizes = [int(below[line]) + sum(self.hands) for line in lines]
        total = sum(sizes)
        parts = max(1, -(-total // self.recipe.limit))
        groups: list[list[int]] = [[] for _ in range(parts)]
        before = 0
        for line, size in zip(lines, sizes, strict=True):
            # The middle of a line, by size, determines its part, so that parts have nearly equal
            # sizes.
            groups[min(parts - 1, (before + size // 2) * parts // total)].append(line)
            before += size
        return [group for group in groups if group]

    def _inside(self, r: int, group: list[int]) -> np.ndarray:
        """Return whether each node is of round ``r`` and in a subtree of ``group``, bool
        (nodes,)."""
        inside = np.zeros(self.betting.n_nodes, dtype=bool)
        inside[group] = True
        # Parents have smaller numbers than their children, so the mark passes down in one pass.
        for node in range(min(group) + 1, len(inside)):
            inside[node] |= inside[self.betting.parent[node]]
        return inside & (self.betting.round == r)

    def _numbers(self, groups: dict[int, list[list[int]]]) -> dict[int, np.ndarray]:
        """Assign a number to each chunk of the rounds in chunks.

        Chunks are numbered board by board.  The chunks of later rounds directly follow the board
        above them.

        Returns:
            int64 (boards, groups) for each round: the chunk of each solved board and group of
            lines.
        """
        boards = self.symmetry.rounds
        sizes: dict[int, np.ndarray] = {}
        chunk_numbers: dict[int, np.ndarray] = {}
        for r in reversed(self.streets):
            sizes[r] = np.full(len(boards[r].board), len(groups[r]))
            if r + 1 in sizes:
                np.add.at(sizes[r], boards[r + 1].parent, sizes[r + 1])
        for r in self.streets:
            begin = np.cumsum(sizes[r]) - sizes[r]
            if r - 1 in chunk_numbers:
                parent = boards[r].parent
                # ``parent`` ascends, so the search finds the first board with the same parent.
                # Offsets are relative to that board.
                begin -= begin[np.searchsorted(parent, parent)]
                begin += chunk_numbers[r - 1][parent, -1] + 1
            chunk_numbers[r] = begin[:, None] + np.arange(len(groups[r]))
        return chunk_numbers

    def _record_positions(
        self, form: CardForm, group: int, place: np.ndarray, stride: np.ndarray
    ) -> None:
        """Record the positions of a form's decisions in ``place`` and ``stride``."""
        for node, first in form.first.items():
            if isinstance(node, Wait):
                continue
            place[:, node] = group, form.ends[int(self.betting.player[node])] + first
            stride[:, node] = form.width[node]

    def _shapes(
        self,
        forms: dict[tuple[int, int], list[CardForm]],
        groups: dict[int, list[list[int]]],
        numbers: dict[int, np.ndarray],
    ) -> ChunkShapes:
        """Build the shapes of all chunks.

        Each chunk has the arrays of its board, and the amounts for its number of solved boards.
        All other arrays are stored in the pools once for all boards with equal classes of hands.
        """
        pools, fields = Pools(), fields_of((self.payoffs.kind,))
        bases: dict[tuple[int, int], list[list[tuple[int, int, int]]]] = {}
        amounts: dict[tuple[int, int, int, float], tuple[int, int, int]] = {}
        amount: dict[tuple[int, int], list[np.ndarray]] = {}
        for (r, kind), of_kind in forms.items():
            payoffs = [
                self.payoffs.of(form, self._inside(r, group), [])
                for form, group in zip(of_kind, groups[r], strict=True)
            ]
            arrays = [
                dict(named_arrays(form.form(pays)))
                for form, pays in zip(of_kind, payoffs, strict=True)
            ]
            bases[r, kind] = [
                [pools.put(form_arrays[name]) for name in fields] for form_arrays in arrays
            ]
            amount[r, kind] = [pays.amount for pays in payoffs]
        chunks = sum(of_round.size for of_round in numbers.values())
        place = np.zeros((chunks, len(fields), 3), dtype=np.int64)
        name = KIND_OF_CLASS[self.payoffs.kind].name
        pays = fields.index(f"{name}/amount")
        for r in self.streets:
            boards, solved_for = self.symmetry.rounds[r], self.payoffs.solved_for[r]
            for board, on_board in enumerate(self.payoffs.on_boards(r)):
                board_arrays = self.payoffs.board_arrays(r, board, on_board)
                of_board = {
                    fields.index(f"{name}/{array}"): pools.put(numbers_on_board)
                    for array, numbers_on_board in board_arrays.items()
                }
                kind, multiplicity = int(boards.played[board]), float(solved_for[board])
                for number, base in enumerate(bases[r, kind]):
                    chunk_place = place[numbers[r][board, number]]
                    chunk_place[:] = base
                    for field, placed in of_board.items():
                        chunk_place[field] = placed
                    if multiplicity != 1.0:
                        key = r, kind, number, multiplicity
                        if key not in amounts:
                            amounts[key] = pools.put(amount[r, kind][number] * multiplicity)
                        chunk_place[pays] = amounts[key]
        return ChunkShapes(place, *pools.finish(), (self.payoffs.kind,))

    def _entries(
        self,
        trunk: CardForm,
        forms: dict[tuple[int, int], list[CardForm]],
        groups: dict[int, list[list[int]]],
        numbers: dict[int, np.ndarray],
    ) -> Entered:
        """Build the entries of each chunk: line by line, with the classes of hands on its board."""
        beyond, everywhere = GrowingArray(np.uint32), trunk.where
        known: dict[tuple[int, int, int], int] = {}
        chunks = sum(of_round.size for of_round in numbers.values())
        parent_part = np.zeros(chunks, dtype=np.int64)
        # Count the entries and rows of each chunk first: they set the offsets at which the second
        # loop writes the rows.
        entries, lines_in = np.zeros((2, chunks, len(self.players)), dtype=np.int64)
        for r in self.streets:
            for number, group in enumerate(groups[r]):
                for p, lines in enumerate(self._entered(group)):
                    chunk_numbers = numbers[r][:, number]
                    lines_in[chunk_numbers, p] = len(lines)
                    entries[chunk_numbers, p] = len(lines) * self.symmetry.n_classes(p, r)
        row_offset = tiled(lines_in)
        row = np.zeros((int(lines_in.sum()), 3), dtype=np.uint32)
        for r in self.streets:
            boards = self.symmetry.rounds[r]
            before = self.symmetry.rounds[r - 1].played[boards.parent].tolist()
            if r - 1 in numbers:
                parent_part[numbers[r]] = numbers[r - 1][boards.parent] + 1
            for number, group in enumerate(groups[r]):
                chunk_numbers = numbers[r][:, number]
                for p, lines in enumerate(self._entered(group)):
                    for nth, line in enumerate(lines):
                        if r - 1 in numbers:
                            kinds = everywhere.kinds(r, r - 1)
                            first = {
                                kind: int(forms[r - 1, kind][0].sequences(p, line, r - 1)[0])
                                for kind in set(before)
                            }
                            after = np.array([first[kind] for kind in before])
                        else:
                            kinds = everywhere.kinds(r, trunk.round_of(line))
                            after = trunk.sequences(p, line, r)
                        for kind_pair in dict.fromkeys(kinds):
                            if (p, *kind_pair) not in known:
                                known[p, *kind_pair] = beyond.append(
                                    everywhere.between(p, *kind_pair)
                                )
                        begin = [known[p, *kind_pair] for kind_pair in kinds]
                        # A row has the number of classes, the first sequence above, and the offset
                        # in ``beyond``.
                        columns = self.symmetry.n_classes(p, r), after, begin
                        row[row_offset[chunk_numbers, p] + nth] = np.stack(columns, axis=1)
        entry_offset = tiled(entries, parent_part > 0)
        return Entered(parent_part, entry_offset, row_offset, row, beyond.finish())
