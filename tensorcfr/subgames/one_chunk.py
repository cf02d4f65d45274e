"""Chunks of a game that are solved one at a time and forgotten."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from .._util.aligned import aligned
from ..algorithms import Algorithm
from ..kernels import chunk_passes
from ..kernels.pass_arrays import Numbers, PassSchedule, StoredArrays, plain_numbers
from ..model.arrays import SequenceForm, bucket_layout, frozen_arrays
from ..model.chunked_form import (
    ChunkedForm,
    EntryBuilder,
    chunked,
    whole_rows,
)
from ..payoff import PayoffEntries, empty_part
from ..solvers.passes import (
    chunk_scratch,
    empty_schedule,
    new_counters,
    pass_schedule,
    trunk_scratch,
)
from ..solvers.solver_state import compute_strategies
from ..solvers.value_bounds import game_bounds

MIN_RANGE = 1e-12
"""Smallest reach of a hand in a subgame. Hands with zero reach need counterfactual values too, so
they get a small positive reach."""
FLOATS = np.dtype(np.float64)
SHAPES_KEPT = 64
"""Number of shapes whose games are cached for the next chunk of the same shape."""


class ChunkGame(NamedTuple):
    """A chunk with its entries, as a game of its own."""

    form: ChunkedForm
    """One chunk, and a trunk with a sequence for each entry. In a *gadget* the opponent decides at
    each of their entries: follow into the chunk, or terminate and get the alternative value."""
    alternative: np.ndarray
    """float64 (entries of the opponent,): the alternative values; may be changed. Empty without an
    opponent who decides."""


def isolate_chunk(game: ChunkedForm, c: int, opponent: int | None = None) -> ChunkGame:
    """Return a chunk as a game of its own; chunks of the same shape give the same game.

    Args:
        game: The game.
        c: The chunk.
        opponent: The player who decides at the entries (the gadget of Burch, Johanson and Bowling,
            2014); None for nobody.
    """
    entries = np.diff(game.entry_offset[c])
    decisions = np.where(np.arange(2) == opponent, entries, 0)
    # For each player the empty sequence, those that enter, and those that terminate.
    sequences = np.cumsum([0, *(1 + entries + decisions)])
    decider = opponent or 0
    first, count = int(sequences[decider]), int(decisions[decider])
    bucket = np.zeros(1 if count else 0, dtype=np.int64)
    alternative = np.zeros(count)
    terminate = PayoffEntries(
        row=bucket + first + 1 + count,
        rows=bucket + count,
        entries=bucket + 1,
        offset=bucket,
        slices=np.cumsum([0, *(decisions > 0)]),
        column=np.full((1, count), sequences[1 - decider], dtype=np.uint32),
        value=alternative,
    )
    kinds = (type(part) for part in game.trunk.operator)
    layout = bucket_layout(bucket + decider, bucket, bucket + 2, bucket + count, n_players=2)
    trunk = SequenceForm(
        **layout | {"player_sequences": sequences, "bucket_sequence": bucket + first + 1},
        infoset_parent=np.full(count, first, dtype=np.uint32),
        # Empty parts of the other kinds in the trunk: the types are then those of the game, and
        # its compiled kernels can be reused.
        operator=(terminate, *(empty_part(kind) for kind in kinds if kind is not PayoffEntries)),
    )
    entered = EntryBuilder()
    entered.add([[int(sequences[p]) + 1 + np.arange(entries[p])] for p in range(2)])
    assert game.shapes is not None
    form = chunked(trunk, game.shapes, game.shape[c : c + 1], entered.finish())
    return ChunkGame(frozen_arrays(form), alternative)


class ChunkSizes(NamedTuple):
    """Largest sizes of the chunks of a game, each as a game of its own."""

    numbers: int
    trunk: int
    entries: int


ARRAYS = 3
"""Number of arrays of a :class:`SubgameSolver` over the sequences of a chunk: regrets, averages,
strategies."""


def sizes_of(game: ChunkedForm) -> ChunkSizes:
    """Compute the largest sizes of the chunks."""
    entries = np.diff(game.entry_offset, axis=1)
    trunk = 2 + entries.sum(axis=1) + entries.max(axis=1, initial=0)
    numbers = whole_rows(trunk) + np.diff(game.number_offset)
    sizes = (numbers, trunk, entries.sum(axis=1))
    return ChunkSizes(*(int(of_chunks.max(initial=0)) for of_chunks in sizes))


BYTES_OF_CHUNK_GAME = 16 << 10
"""Upper bound in bytes of a chunk with few entries as a game of its own: many small arrays."""
BYTES_PER_ENTRY = 20
"""Additional bytes of a chunk as a game of its own, for each of its entries."""


def bytes_of_one(game: ChunkedForm) -> int:
    """Return the bytes of a :class:`SubgameSolver`, and of one chunk's strategies that it
    returns."""
    size = sizes_of(game)
    numbers = (ARRAYS + 1) * size.numbers + 2 * game.most_sequences
    # A shape is a game of its own without an opponent who decides, and with either player as one.
    n_cached = min(SHAPES_KEPT, 3 * len(np.unique(game.shape)))
    games = n_cached * (BYTES_OF_CHUNK_GAME + BYTES_PER_ENTRY * size.entries)
    if game.shapes is not None and PayoffEntries not in game.shapes.kinds:
        games += game.shapes.integers.nbytes
    return FLOATS.itemsize * (numbers + 2 * size.trunk + size.entries) + games


class _Passes(NamedTuple):
    """Passes with one schedule."""

    factor: float
    """Factor of the average so far, applied before the passes."""
    schedule: PassSchedule
    counters: np.ndarray


def _passes_of(record: Algorithm, iterations: int) -> list[_Passes]:
    """Return the passes of the first iterations."""
    passes, done, floor = [], 0, 0.0
    for factor, count in record.runs(1, iterations):
        schedule = pass_schedule(record, done + 1, count, floor)
        passes.append(_Passes(factor, schedule, new_counters(len(schedule.row))))
        done += count
        floor = float(record.floors(done, 1)[0])
    return passes


class SubgameSolver:
    """Solver of one chunk after the other, which keeps nothing of the chunk before.

    It runs a variant of CFR whose rule stores only regrets. Arrays that it returns are views of its
    own arrays, valid until the next call. Ranges are own reaches of the game's trunk, float64
    (trunk sequences,).
    """

    def __init__(self, game: ChunkedForm, record: Algorithm) -> None:
        if game.shapes is not None:
            # The trunk of a chunk as a game of its own has entries.
            game = game._replace(shapes=game.shapes.with_empty_parts((PayoffEntries,)))
        self._game, self._record = game, record
        self.bounds = game_bounds(game)
        """Value bounds of the game. The bounds of a single chunk are smaller, by the reaches with
        which it is entered."""
        self._value_bound = np.zeros_like(self.bounds.bucket)
        size = sizes_of(game)
        regret, average, strategy = (aligned(size.numbers, FLOATS) for _ in range(ARRAYS))
        self._regret, self._average = plain_numbers(regret), plain_numbers(average)
        self._strategy = strategy
        self._memory = np.zeros((0, size.numbers))
        self._trunk = trunk_scratch(size.trunk, size.entries, FLOATS)
        self.scratch = chunk_scratch(game, FLOATS)
        shapes, first = np.unique(game.shape, return_index=True)
        self._first_of_shape = dict(zip(shapes.tolist(), first.tolist(), strict=True))
        self._isolate = lru_cache(SHAPES_KEPT)(partial(isolate_chunk, game))
        self._passes = lru_cache(None)(partial(_passes_of, record))
        # One pass of both players at once, to read the values of the entries.
        single_pass = self._passes(1)[0]
        schedule = empty_schedule((1,), record)._replace(row=single_pass.schedule.row[:1])
        schedule.computes_reach[:] = schedule.updates[:] = True
        self._value_pass = single_pass._replace(schedule=schedule)

    def solve(self, c: int, reach: np.ndarray, iterations: int) -> np.ndarray:
        """Solve a chunk from given ranges.

        Returns:
            float64 (numbers of the chunk,): weights of the average strategies.
        """
        return self._run(self._enter(c, reach, MIN_RANGE), iterations)

    def values(self, c: int) -> np.ndarray:
        """Return the counterfactual values of a chunk's entries under the average strategies.

        The chunk must be the one that was solved last. Its strategies are overwritten.

        Returns:
            float64 (entries of the chunk,).
        """
        chunk_game = self._chunk_game(c)
        if not self._record.rule.matches_regret:
            compute_strategies(chunk_game.form, self._average, 0.0, self._strategy, None)
        # A pass with averages in place of regrets has the average strategies' values. It also
        # updates the averages, which are of no use afterwards.
        self._pass(chunk_game, self._value_pass, self._average, self._regret)
        return self._trunk.entry_value[: chunk_game.form.n_entries]

    def resolve(
        self, c: int, player: int, reach: np.ndarray, alternative: np.ndarray, iterations: int
    ) -> np.ndarray:
        """Solve the gadget of a chunk, in which the other player decides at the entries.

        Args:
            c: The chunk.
            player: The player whose strategies are wanted.
            reach: Ranges.
            alternative: float64 (entries of the chunk,): counterfactual values.
            iterations: Number of iterations.

        Returns:
            float64 (numbers of the chunk,): weights of the average strategies.
        """
        chunk_game = self._enter(c, reach, MIN_RANGE, 1 - player)
        begin, end = chunk_game.form.entry_offset[0, 1 - player : 3 - player]
        chunk_game.alternative[:] = alternative[begin:end]
        # The regrets at the entries compare the chunk with the alternatives, so their bound is
        # the larger of the two.
        begin, end = self._game.entry_offset[c, 1 - player : 3 - player]
        entered = self._largest_range(chunk_game, player) * self.bounds.entry[begin:end].max(
            initial=0.0
        )
        self._value_bound[0, 0] = max(entered, np.abs(chunk_game.alternative).max(initial=0.0))
        return self._run(chunk_game, iterations)

    def strategies(self, c: int, weight: np.ndarray) -> np.ndarray:
        """Return the strategies of a chunk with given weights, float64 (numbers of the chunk,)."""
        chunk_game = self._chunk_game(c)
        compute_strategies(
            chunk_game.form, self._store_weights(chunk_game, weight), 0.0, self._strategy, None
        )
        return self._chunk_numbers(chunk_game, self._strategy)

    def _chunk_game(self, c: int, opponent: int | None = None) -> ChunkGame:
        return self._isolate(self._first_of_shape[int(self._game.shape[c])], opponent)

    def _enter(
        self, c: int, reach: np.ndarray, min_reach: float, opponent: int | None = None
    ) -> ChunkGame:
        """Copy the ranges of a chunk into the arrays of the kernels, and set the value
        bounds."""
        chunk_game = self._chunk_game(c, opponent)
        for player, first in enumerate(chunk_game.form.trunk.player_sequences[:2].tolist()):
            entered = self._game.entries(c, player)
            own_reach = self._trunk.reach[first : first + 1 + len(entered)]
            # The reach of the empty sequence, then of the entries.
            own_reach[0] = 1.0
            np.maximum(reach[entered], min_reach, out=own_reach[1:])
        shape = int(self._game.shape[c])
        buckets = self._game.shapes.array(shape, "player_buckets")  # type: ignore[union-attr]
        for player in range(2):
            # Payoffs are proportional to the other player's range, and so are the bounds. An
            # opponent who decides may follow into the chunk with every hand.
            largest = 1.0 if 1 - player == opponent else self._largest_range(chunk_game, 1 - player)
            of_player = slice(buckets[player], buckets[player + 1])
            self._value_bound[1 + shape, of_player] = (
                largest * self.bounds.bucket[1 + shape, of_player]
            )
        return chunk_game

    def _largest_range(self, chunk_game: ChunkGame, player: int) -> float:
        """Return the largest range of a player with which a chunk is entered."""
        first, end = chunk_game.form.trunk.player_sequences[player : player + 2].tolist()
        return float(self._trunk.reach[first + 1 : end].max(initial=0.0))

    def _store_weights(self, chunk_game: ChunkGame, weight: np.ndarray) -> Numbers:
        """Copy the weights of a chunk into the arrays of the kernels."""
        self._chunk_numbers(chunk_game, self._regret.chunks)[:] = weight
        return self._regret

    @staticmethod
    def _chunk_numbers(chunk_game: ChunkGame, array: np.ndarray) -> np.ndarray:
        """Return the numbers of the chunk."""
        begin, end = chunk_game.form.number_offset.tolist()
        return array[begin:end]

    def _run(self, chunk_game: ChunkGame, iterations: int) -> np.ndarray:
        """Run iterations from the first on, and return the weights of the average strategies."""
        end = int(chunk_game.form.number_offset[-1])
        regret, average = self._regret.chunks[:end], self._average.chunks[:end]
        regret[:] = average[:] = 0.0
        if not self._record.rule.matches_regret:
            compute_strategies(chunk_game.form, self._regret, 0.0, self._strategy, None)
        for passes in self._passes(iterations):
            average *= passes.factor
            self._pass(chunk_game, passes, self._regret, self._average)
        return self._chunk_numbers(chunk_game, self._average.chunks)

    def _pass(
        self, chunk_game: ChunkGame, passes: _Passes, regret: Numbers, average: Numbers
    ) -> None:
        strategy = None if self._record.rule.matches_regret else self._strategy
        chunk_passes.run_passes(
            chunk_game.form,
            self._record.rule,
            passes.schedule,
            StoredArrays(regret, average, strategy, self._memory),
            self._trunk,
            self.scratch,
            self._value_bound,
            None,
            0,
            1,
            1,
            passes.counters,
        )
