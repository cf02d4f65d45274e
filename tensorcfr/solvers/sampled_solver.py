"""Monte Carlo CFR: a solver that samples, and stores its numbers in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, cast

import numpy as np

from .._util.argument_checks import Kind, Limit, checked
from .._util.one_line import arrays_in_line
from ..algorithms import Sampling
from ..errors import MemoryLimitError
from ..kernels.local_rule import rule_errors
from ..kernels.random import Script, Seed, Streams, seeded, streams, streams_at
from ..kernels.sampling_chance import chance_sampling
from ..kernels.sampling_public import AllHandsTree, public_chance_sampling
from ..kernels.sampling_steps import OPTIMISTIC, SIMPLE, STOCHASTIC
from ..kernels.traversal import CardTree, Orders, TraversalState, TraversalTree
from ..model.arrays import CHANCE
from ..model.chunked_form import count_lanes
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.game_arguments import require_flat
from ..model.layout import Layout
from ..model.policy import Policy
from ..uncompiled.infoset_table import InfosetTable
from ..uncompiled.uncompiled_game import UncompiledGame
from .history_sources import NO_ARRAY, CompiledSource, GrowingSource, infosets_of
from .problem import Problem
from .sampling_base import Playable, SamplingSolver, check_seed, naming_memory_limit
from .solver_arguments import Deal, Iterations, Named
from .state_file import Expected, check_arrays
from .traversal import (
    BASELINE,
    CUMULATIVE,
    REGRETS,
    STRATEGY,
    TableLayout,
    all_hands_traversal,
    bytes_of,
    card_traversal,
    history_traversal,
    public_traversal,
)

STATE_ARRAYS = 3
"""Number of arrays over the sequences in a state: regrets, strategy, sums."""
AVERAGE_ARRAYS = 2
"""Number of arrays of the average strategy: the strategy, and the sums from which it is computed.
An evaluation allocates fewer arrays."""
AVERAGING_CODES = {"simple": SIMPLE, "stochastic": STOCHASTIC, "optimistic": OPTIMISTIC}


class SampledState(NamedTuple):
    """State of a Monte Carlo solver between iterations.

    On rules, infosets are in the order in which they were entered, and a sequence is an action of
    an infoset.
    """

    def __repr__(self) -> str:
        return arrays_in_line(self)

    regret: np.ndarray
    """float64 (sequences,): cumulative regret, as the local rule keeps it."""
    strategy: np.ndarray
    """float64 (sequences,): behaviour strategy; 1 for the empty sequences of a compiled game."""
    cumulative: np.ndarray
    """float64 (sequences,): cumulative strategy; for the empty sequences the sum of the averaging
    weights."""
    last: np.ndarray
    """float64 (infosets,): sum of the averaging weights at the last visit (optimistic
    averaging)."""
    baseline: np.ndarray
    """float64 (players, sequences): baselines of each player; (0, sequences) without baselines."""
    touched: np.ndarray
    """int64 (2,): number of histories visited, and of decision nodes among them."""
    generator: np.ndarray
    """uint64 (4,): state of the random number generator; or uint64 (streams,): the position of
    every stream.  See :mod:`tensorcfr.kernels.random`."""

    # The arrays below exist only on rules.
    clock: np.ndarray = NO_ARRAY
    """float64 (1,): sum of the averaging weights."""
    player: np.ndarray = NO_ARRAY
    """int8 (infosets,): acting player."""
    own: np.ndarray = NO_ARRAY
    """int64 (infosets,): the player's preceding sequence; -1 if there is none."""
    kind: np.ndarray = NO_ARRAY
    """int32 (infosets,): index of the infoset's tuple of actions."""
    labels: np.ndarray = NO_ARRAY
    """uint8: labels in UTF-8, one after the other."""
    label_ends: np.ndarray = NO_ARRAY
    """int64 (infosets,): end of each label in ``labels``."""
    actions: np.ndarray = NO_ARRAY
    """uint8: labels of the actions of all tuples, in UTF-8, one after the other."""
    action_ends: np.ndarray = NO_ARRAY
    """int64: end of each action in ``actions``."""
    kind_ends: np.ndarray = NO_ARRAY
    """int64 (tuples,): end of each tuple in ``action_ends``."""


class SampledSolver(SamplingSolver):
    """Monte Carlo solver for user-written loops; :func:`tensorcfr.solve` adds stop rules.

    >>> from tensorcfr import compile_game
    >>> solver = SampledSolver(compile_game("kuhn"), "external_sampling", seed=7)
    >>> solver.iterate(10_000)
    >>> solver.evaluate().exploitability < 0.05
    True
    >>> 14 < solver.nodes_touched / solver.iteration < 16
    True

    A card game need not be flat.  Traversals draw the hands and the board first, and then follow
    the betting through the trunk and the chunks of this board.

    With the rules of a game, nothing is compiled.  Infosets enter a table, and histories a tree,
    when a traversal first reaches them.  The kernels are the same and draw the same random numbers.
    They are as fast as on the compiled game among known histories; each new history calls the
    rules.

    >>> solver = SampledSolver("kuhn", "external_sampling", seed=7)
    >>> solver.iterate(1000)
    >>> solver.infosets_held
    12
    >>> round(solver.average_policy()["Q"]["bet"], 1)
    0.0

    Args:
        game: A compiled game; or the rules of a game, in any form that
            :func:`tensorcfr.compile_game` takes.
        algorithm: A name or a record; see :class:`tensorcfr.algorithms.Sampling`.  On rules, its
            scheme must follow plays: external, robust, average strategy or outcome sampling.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Number of iterations that led to ``state``.
        seed: A whole number from 0; or several, ``(seed, 0), (seed, 1), ...`` for independent
            streams.  ``state`` has its own generator.
        deal: Labels of chance outcomes that happen for certain, the first chance node's first; the
            others are sampled.  For compiled games.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.  On
            rules it limits the stored infosets, histories and states of the rules.

    Raises:
        ValueError: There is no such algorithm, or it does not sample.  The seed is invalid, or the
            deal cannot happen.  The algorithm plays all hands, and the game has no public tree, or
            a deal is given.  The scheme or the deal needs a compiled game.  The card game has lines
            or weights that cannot be sampled.
        GameError: There is no such game.
        CutError: The game is in chunks and not a card game; or the scheme, or ``deal``, needs a
            flat game.
        MemoryLimitError: The arrays would not fit; raised before they are allocated.

    On rules, :meth:`iterate` raises MemoryLimitError when the table is full, and GameError where
    the rules break their contract.  The iteration during which that happens is undone: the solver
    can be evaluated, saved, and continued with a larger ``memory_limit``.
    """

    records = Sampling
    state_kind = SampledState

    @checked()
    def __init__(
        self,
        game: Playable,
        algorithm: Named,
        *,
        state: Annotated[SampledState | None, Kind((SampledState,), "a solver's state")] = None,
        iteration: Iterations = 0,
        seed: Seed | None = None,
        deal: Deal | None = None,
        memory_limit: Limit = None,
    ) -> None:
        initial = self._begin(game, algorithm, state, iteration, seed, memory_limit)
        record = self.algorithm
        if game.layout == Layout.RULES:
            if deal is not None:
                raise ValueError(f"a deal takes a compiled game: compile_game makes one of {game}")
            self.source = _growing_source(self.game, record, initial)
        else:
            self.source = _compiled_source(game, record, deal, self.memory_limit)
        self._players = np.arange(game.n_players, dtype=np.uint64)
        self._tally = TraversalState(self.source.table.numbers, np.zeros(1), np.zeros(2, np.int64))
        self._touched = self._tally.touched
        if initial is None:
            begin = check_seed(0 if seed is None else seed)
            if count := self._count_streams():
                self._generator = streams(begin, game.n_players, count)
            else:
                self._generator = seeded(begin)
        else:
            self._take(initial)
        self._run(0)

    def _count_streams(self) -> int:
        return 0 if self.source.grows else count_streams(self.game, self.algorithm)

    def _room(self) -> float:
        return self.memory_limit

    def _run(
        self,
        iterations: int,
        generator: np.ndarray | Script | Streams | None = None,
        players: np.ndarray | None = None,
    ) -> None:
        record, rule = self.algorithm, self.algorithm.variant.rule
        schedule = record.variant.schedule(self.iteration + 1, iterations)
        players = self._players if players is None else players
        averaging = AVERAGING_CODES[record.averaging_among(self.game.n_players)]
        orders = Orders(schedule, players, averaging, record.variant.alternating)
        generator = self._generator if generator is None else generator
        # These kernels may stop early on rules, and count the iterations that are done.
        if record.scheme in ("external", "robust", "average", "outcome"):
            done_before = self.iteration
            self.source.done = 0
            with naming_memory_limit(self):
                try:
                    self._follow(orders, self._tally, generator)
                finally:
                    self.iteration = done_before + self.source.done
            return
        begin, end = (self.source.arrays, rule, orders), (self._tally, generator)
        with np.errstate(over="ignore"), rule_errors(rule):
            if record.scheme == "public":
                public_chance_sampling(*begin, record.prune, *end)
            else:
                chance_sampling(*begin, record.scheme == "chance", record.prune, *end)
        self.iteration += iterations

    def _scale_average(self, factor: float) -> None:
        assert factor == 0.0  # Sampling refuses growing weights, whose factors are powers of two.
        table = self.source.table
        table.set_group(CUMULATIVE, np.zeros(self.source.n_sequences))
        table.set_last(np.zeros(self.source.n_infosets))
        self._tally.clock[0] = 0.0

    @classmethod
    def _check_chunks(cls, game: CompiledGame, record: Sampling) -> None:
        is_possible = record.scheme not in ("whole", "public") and record.draws == "independent"
        if not (game.is_of_cards and is_possible):
            super()._check_chunks(game, record)

    @classmethod
    def restore(cls, problem: Problem, stored: Mapping[str, np.ndarray]) -> SampledState:  # noqa: D102
        game, algorithm = problem.game, problem.algorithm
        infosets = infosets_of(game, stored)
        sequences = infosets.n_sequences
        players = game.n_players if algorithm.baseline > 0.0 else 0
        several = 0 if infosets.grows else count_streams(game, algorithm)
        expected: Expected = {
            **dict.fromkeys(("regret", "strategy", "cumulative"), ((sequences,), np.float64)),
            "last": ((infosets.n_infosets,), np.float64),
            "baseline": ((players, sequences), np.float64),
            "touched": ((2,), np.int64),
            "generator": ((several * game.n_players or 4,), np.uint64),
            **infosets.clock,
        }
        owner = "these infosets" if infosets.grows else game.name
        check_arrays(stored, expected, f"{owner} and {algorithm.name}")
        arrays = {name: np.ascontiguousarray(stored[name]) for name in expected}
        return SampledState(**arrays, **infosets.described)

    @property
    def state(self) -> SampledState:
        """A copy of the solver's arrays, by sequences and infosets."""
        source, table = self.source, self.source.table
        cumulative = table.group(CUMULATIVE)
        players = range(self.game.n_players if self.algorithm.baseline > 0.0 else 0)
        baseline = [table.group(BASELINE + player) for player in players]
        generator = self._generator
        if isinstance(generator, Streams):
            generator = generator.position
        return SampledState(
            regret=table.group(REGRETS),
            strategy=table.group(STRATEGY),
            last=table.last(),
            baseline=np.array(baseline).reshape(len(players), source.n_sequences),
            touched=self._touched.copy(),
            generator=generator.copy(),
            **source.described_with(cumulative, self._tally.clock),
            cumulative=cumulative,
        )

    def _take(self, state: SampledState) -> None:
        """Copy a state into the table, the reverse of :attr:`state`; its infosets must exist."""
        source, table = self.source, self.source.table
        table.set_group(REGRETS, state.regret)
        table.set_group(STRATEGY, state.strategy)
        table.set_group(CUMULATIVE, state.cumulative)
        table.set_last(state.last)
        for player, baseline in enumerate(state.baseline):
            table.set_group(BASELINE + player, baseline)
        self._tally.clock[:] = state.clock if source.grows else state.cumulative[:1]
        self._touched[:] = state.touched
        self._generator = state.generator.copy()
        if self._count_streams():
            self._generator = streams_at(self._generator, self.game.n_players)

    @classmethod
    def policy_of(cls, problem: Problem, state: Any) -> Policy:  # noqa: D102
        infosets = infosets_of(problem.game, state._asdict())
        if not cls.has_average(state):
            return infosets.policy(state.strategy.copy())
        return infosets.policy(infosets.normalised(state.cumulative))

    @classmethod
    def has_average(cls, state: SampledState) -> bool:  # noqa: D102
        return bool(state.cumulative.any())

    def average_probabilities(self) -> np.ndarray:
        """Compute the average strategy, float64 (sequences,).

        It is uniform at infosets where its sum is 0, and the last iterate if no iteration has
        entered the average.
        """
        sums = self.source.table.group(CUMULATIVE)
        return self.source.normalised(sums) if sums.any() else self.source.table.group(STRATEGY)


def _growing_source(
    game: UncompiledGame, record: Sampling, state: SampledState | None
) -> GrowingSource:
    """Create the source of a solver on rules, with the infosets of a state, if there is one."""
    groups = BASELINE + (game.n_players if record.baseline > 0.0 else 0)
    if state is None:
        table = InfosetTable(groups)
    else:
        table = InfosetTable.of(state._asdict(), game.n_players, groups)
    return GrowingSource(
        game, table, tries=record.own_draws is not None, returns=record.scheme != "outcome"
    )


def _compiled_source(
    game: CompiledGame, record: Sampling, deal: Sequence[str] | None, limit: float
) -> CompiledSource:
    """Create the source of a solver on a compiled game.

    Raises:
        CutError: A deal is given, and the game is in chunks.
        ValueError: The algorithm plays all hands, and the game has no public tree, or a deal is
            given; the deal cannot happen.
        MemoryLimitError: Table, tree and state would not fit.
    """
    if deal is not None:
        require_flat(game, "a given deal")
    if record.scheme == "public":
        check_public(cast(FlatGame, game), record)
        if deal is not None:
            raise ValueError(f"{record.name} plays all hands at once: it takes no deal")
    if record.draws == "golden" and deal is not None:
        raise ValueError(f"{record.name}: draws='golden' takes no deal")
    public = deal is None and traverses_public_tree(game, record)
    if (needed := bytes_needed(game, record, public=public)) > limit:
        raise MemoryLimitError(f"solving {game.name}", needed, int(limit))
    layout = layout_of(game, record, public=public)
    tree: TraversalTree | CardTree | AllHandsTree
    if game.layout == Layout.CHUNKS:
        tree = card_traversal(game, layout)
        return CompiledSource(layout, tree, tries=record.own_draws is not None)
    flat = cast(FlatGame, game)
    if record.scheme == "public":
        tree = all_hands_traversal(flat, layout)
    elif public:
        tree = public_traversal(flat, layout)
    else:
        tree = history_traversal(flat, layout, deal=deal, joined=record.scheme != "whole")
    return CompiledSource(layout, tree, tries=record.own_draws is not None)


def traverses_public_tree(game: CompiledGame, record: Sampling) -> bool:
    """Return whether traversals use public nodes, with hands drawn first or with all hands.

    They do if the game has no histories, unless the scheme visits all histories.
    """
    return record.scheme == "public" or not (game.by_histories or record.scheme == "whole")


def check_public(game: FlatGame, record: Sampling) -> None:
    """Check that a game has the public tree that an algorithm needs.

    Raises:
        ValueError: It has none; names the reason.
    """
    if game.public is not None:
        return
    reason = (
        f"it has {game.n_players} players, and only games of two keep theirs"
        if game.n_players != 2
        else "it was given as histories, which are not private hands on one public tree"
    )
    raise ValueError(
        f"{record.name} plays all private hands on the public tree; {game.name} has none: {reason}"
    )


def count_streams(game: CompiledGame, record: Sampling) -> int:
    """Return the number of streams per player from which traversals draw; 0 for independent
    draws."""
    if record.draws == "independent":
        return 0
    flat = cast(FlatGame, game)  # Streams belong to the chance nodes of a flat game.
    if not traverses_public_tree(game, record):
        return int(np.count_nonzero(flat.tree.player == CHANCE))
    tree = flat.public_tree
    chance = int(np.count_nonzero(tree.player == CHANCE))
    return max(1, chance) if record.scheme == "public" else 1 + chance * tree.prior.size


def layout_of(game: CompiledGame, record: Sampling, *, public: bool) -> TableLayout:
    """Return the contents and the layout of a solver's table.

    A traversal of a public tree with one deal visits an infoset once, so that some fields of a
    block are not needed.  They are omitted, because games without histories are large.
    """
    extra = game.n_players if record.baseline > 0.0 else record.extra
    if not public:
        return TableLayout(game, extra)
    every_action = record.scheme in ("chance", "public")
    together = every_action and not record.variant.alternating
    if every_action:
        extra = int(together)
    return TableLayout(game, extra, has_header=together or record.averaging == "optimistic")


def bytes_needed(game: CompiledGame, record: Sampling, *, public: bool | None = None) -> int:
    """Compute the bytes that a solver takes in addition to the compiled game.

    They are the table, the tree that it traverses, and the arrays of a solution.

    Args:
        game: The game.
        record: The algorithm.
        public: True if it traverses the public tree; by default, as a solver would.
    """
    public = traverses_public_tree(game, record) if public is None else public
    queue = record.scheme in ("whole", "chance")
    all_hands = record.scheme == "public"
    layout = layout_of(game, record, public=public)
    traversal_bytes = bytes_of(layout, queue=False, public=public, all_hands=all_hands)
    queue_bytes = (
        bytes_of(layout, queue=queue, public=public, all_hands=all_hands) - traversal_bytes
    )
    # Baselines are first collected in one array for each player, before the average is allocated.
    baselines = game.n_players if record.baseline > 0.0 else 0
    arrays = STATE_ARRAYS + baselines + max(AVERAGE_ARRAYS, baselines)
    stored_numbers = arrays * game.n_numbers + layout.has_header * count_lanes(game.chunks)
    stored_numbers += 2 * game.n_players * count_streams(game, record)
    # The queue of a traversal is freed before a solution is made, so that only the larger one
    # counts.
    return traversal_bytes + max(queue_bytes, 8 * stored_numbers)
