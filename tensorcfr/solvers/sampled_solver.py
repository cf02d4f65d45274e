"""One Monte Carlo solver in memory: a game, an algorithm, and the state between iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.arguments import Kind, Limit, brief, checked
from .._util.memory import free_memory
from ..algorithms import Sampling
from ..algorithms.records import is_whole
from ..errors import MemoryLimitError
from ..evaluation.metrics import Evaluation, evaluate_probabilities
from ..kernels import evaluation
from ..kernels.local_rule import rule_errors
from ..kernels.random import Script, Seed, Streams, seeded, streams, streams_at
from ..kernels.sampling import OPTIMISTIC, SIMPLE, STOCHASTIC
from ..kernels.sampling_chance import chance_sampling
from ..kernels.sampling_external import external_sampling
from ..kernels.sampling_outcome import outcome_sampling
from ..kernels.sampling_public import AllHandsTree, public_chance_sampling
from ..kernels.traversal import Frames, TraversalState, TraversalTree, new_frames
from ..model.arguments import Compiled
from ..model.arrays import CHANCE
from ..model.game import CompiledGame
from ..model.locks import Locks
from ..model.policy import Policy
from .arguments import Deal, Iterations, Named
from .base import IterativeSolver
from .kept import check_arrays
from .traversal import (
    BASELINE,
    CUMULATIVE,
    REGRETS,
    STRATEGY,
    TableLayout,
    all_hands_traversal,
    bytes_of,
    history_traversal,
    public_traversal,
)

STATE_ARRAYS = 3
"""Arrays over the sequences that a state has: regrets, strategy, sums."""
AVERAGE_ARRAYS = 2
"""The average strategy, and the sums that it is made from.  An evaluation allocates fewer beside
it."""
AVERAGING_CODES = {"simple": SIMPLE, "stochastic": STOCHASTIC, "optimistic": OPTIMISTIC}


class SampledState(NamedTuple):
    """The state of a Monte Carlo solver between iterations."""

    regret: np.ndarray
    """float64 (sequences,): cumulative regret, as the local rule keeps it."""
    strategy: np.ndarray
    """float64 (sequences,): behaviour strategy; 1 for the empty sequences."""
    cumulative: np.ndarray
    """float64 (sequences,): cumulative strategy; for the empty sequences the sum of the averaging
    weights."""
    last: np.ndarray
    """float64 (infosets,): sum of the averaging weights at the last visit (optimistic
    averaging)."""
    baseline: np.ndarray
    """float64 (players, sequences): the baselines of each player; (0, sequences) without any."""
    touched: np.ndarray
    """int64 (2,): histories visited, and decision nodes among them."""
    generator: np.ndarray
    """uint64 (4,): the random number generator; or the position of every stream.  See
    :mod:`tensorcfr.kernels.random`."""


class SampledSolver(IterativeSolver):
    """A Monte Carlo solver whose loop is yours; :func:`tensorcfr.solve` is this with stop rules.

    >>> from tensorcfr import compile_game
    >>> solver = SampledSolver(compile_game("kuhn"), "external_sampling", seed=7)
    >>> solver.step(10_000)
    >>> solver.evaluate().exploitability < 0.05
    True
    >>> 14 < solver.nodes_touched / solver.iteration < 16
    True

    Args:
        game: The game.
        algorithm: A name or a record; see :class:`tensorcfr.algorithms.Sampling`.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Iterations that led to ``state``.
        seed: A whole number from 0; or several, ``(seed, 0), (seed, 1), ...`` for independent
            streams.  ``state`` brings its own generator.
        deal: Labels of chance outcomes that happen for certain, the first chance node's first;
            the others are sampled.
        memory_limit: Bytes that the solver may take; by default the machine's free memory.

    Raises:
        ValueError: There is no such algorithm, or it does not sample; the seed is no seed; the
            deal cannot happen; the algorithm plays all hands, and the game has no public tree, or
            a deal is given.
        MemoryLimitError: The arrays would not fit; raised before they are allocated.
    """

    records = Sampling

    @checked()
    def __init__(
        self,
        game: Compiled,
        algorithm: Named,
        *,
        state: Annotated[SampledState | None, Kind((SampledState,), "a solver's state")] = None,
        iteration: Iterations = 0,
        seed: Seed | None = None,
        deal: Deal | None = None,
        memory_limit: Limit = None,
    ) -> None:
        record = self._checked(game, algorithm)
        self.locks = Locks(game, {})
        refuse_seed_beside(state, seed)
        if record.scheme == "public":
            check_public(game, record)
            if deal is not None:
                raise ValueError(f"{record.name} plays all hands at once: it takes no deal")
        if record.draws == "golden" and deal is not None:
            raise ValueError(f"{record.name}: draws='golden' takes no deal")
        public = deal is None and walks_public_tree(game, record)
        limit = free_memory() if memory_limit is None else memory_limit
        if (needed := bytes_needed(game, record, public=public)) > limit:
            raise MemoryLimitError(f"solving {game.name}", needed, limit)
        self.game = game
        self.algorithm = record
        self.iteration = iteration
        self._layout = layout_of(game, record, public=public)
        self._tree: TraversalTree | AllHandsTree
        if record.scheme == "public":
            self._tree = all_hands_traversal(game, self._layout)
        elif public:
            self._tree = public_traversal(game, self._layout)
        else:
            joined = record.scheme != "whole"
            self._tree = history_traversal(game, self._layout, deal=deal, joined=joined)
        self._players = np.arange(game.n_players, dtype=np.uint64)
        self._frames = new_frames(
            self._tree.depth,
            self._tree.width,
            game.n_players,
            tries=record.own_draws is not None,
        )
        if state is None:
            self._tally = TraversalState(
                np.zeros(self._layout.size), np.zeros(1), np.zeros(2, np.int64)
            )
            uniform = Policy.uniform(game).probabilities
            self._layout.set_group(self._tally.table, STRATEGY, uniform)
            self._generator: np.ndarray | Streams
            begin = check_seed(0 if seed is None else seed)
            if count := count_streams(game, record):
                self._generator = streams(begin, game.n_players, count)
            else:
                self._generator = seeded(begin)
        else:
            self._take(self.restore(game, record, self.kept(state)))
        self._run(0)

    def _run(
        self,
        iterations: int,
        generator: np.ndarray | Script | Streams | None = None,
        players: np.ndarray | None = None,
    ) -> None:
        record = self.algorithm
        before = (
            self._tree,
            record.variant.rule,
            record.variant.schedule(self.iteration + 1, iterations),
            self._players if players is None else players,
            AVERAGING_CODES[record.averaging_among(self.game.n_players)],
        )
        after = (self._tally, self._generator if generator is None else generator)
        # The generator's sums wrap around by design; numpy warns about that with the JIT off.
        with np.errstate(over="ignore"), rule_errors(record.variant.rule):
            if record.scheme in ("external", "robust", "average"):
                external_sampling(*before, *after, self._begun(), None, record.own_draws)
            elif record.scheme == "outcome":
                outcome_sampling(
                    *before, record.epsilon, record.baseline, *after, self._begun(), None
                )
            elif record.scheme == "public":
                public_chance_sampling(*before, record.variant.alternating, record.prune, *after)
            else:
                sampled = record.scheme == "chance"
                alternating = record.variant.alternating
                chance_sampling(*before, alternating, sampled, record.prune, *after)
        self.iteration += iterations

    def _begun(self) -> Frames:
        """Frames for a new schedule."""
        self._frames.cursor[:] = 0
        return self._frames

    def _restart_average(self) -> None:
        self._layout.forget_average(self._tally.table)
        self._tally.clock[0] = 0.0

    @classmethod
    def count_nodes(cls, game: CompiledGame, state: Any, iterations: int) -> tuple[int, int]:
        """The nodes that the traversals counted."""
        return int(state.touched[0]), int(state.touched[1])

    @property
    def nodes_touched(self) -> int:  # noqa: D102
        return int(self._tally.touched[0])

    @property
    def decision_nodes_touched(self) -> int:  # noqa: D102
        return int(self._tally.touched[1])

    @classmethod
    def restore(  # noqa: D102
        cls,
        game: CompiledGame,
        algorithm: Any,
        kept: Mapping[str, np.ndarray],
        locks: Locks | None = None,
    ) -> SampledState:
        players = game.n_players if algorithm.baseline > 0.0 else 0
        expected: dict[str, tuple[tuple[int, ...], type]] = {
            "regret": ((game.n_sequences,), np.float64),
            "strategy": ((game.n_sequences,), np.float64),
            "cumulative": ((game.n_sequences,), np.float64),
            "last": ((game.n_infosets,), np.float64),
            "baseline": ((players, game.n_sequences), np.float64),
            "touched": ((2,), np.int64),
            "generator": ((count_streams(game, algorithm) * game.n_players or 4,), np.uint64),
        }
        check_arrays(kept, expected, f"{game.name} and {algorithm.name}")
        return SampledState(**{name: np.ascontiguousarray(kept[name]) for name in expected})

    @classmethod
    def last_probabilities(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: SampledState, locks: Locks | None = None
    ) -> np.ndarray:
        return state.strategy

    @property
    def state(self) -> SampledState:
        """A copy of what the solver keeps, by sequences and infosets."""
        layout, table = self._layout, self._tally.table
        empty = self.game.form.player_sequences[:-1]
        cumulative = self._cumulative()
        cumulative[empty] = self._tally.clock[0]
        players = range(self.game.n_players if self.algorithm.baseline > 0.0 else 0)
        baseline = [layout.group(table, BASELINE + player) for player in players]
        generator = self._generator
        if isinstance(generator, Streams):
            generator = generator.position
        return SampledState(
            regret=layout.group(table, REGRETS),
            strategy=layout.group(table, STRATEGY, np.ones(self.game.n_sequences)),
            cumulative=cumulative,
            last=layout.last(table),
            baseline=np.array(baseline).reshape(-1, self.game.n_sequences),
            touched=self._tally.touched.copy(),
            generator=generator.copy(),
        )

    def _take(self, state: SampledState) -> None:
        """The reverse of :attr:`state`, whose arrays are copied."""
        layout, table = self._layout, np.zeros(self._layout.size)
        layout.set_group(table, REGRETS, state.regret)
        layout.set_group(table, STRATEGY, state.strategy)
        layout.set_group(table, CUMULATIVE, state.cumulative)
        layout.set_last(table, state.last)
        for player, baseline in enumerate(state.baseline):
            layout.set_group(table, BASELINE + player, baseline)
        self._tally = TraversalState(table, state.cumulative[:1].copy(), state.touched.copy())
        self._generator = state.generator.copy()
        if count_streams(self.game, self.algorithm):
            self._generator = streams_at(self._generator, self.game.n_players)

    def _cumulative(self) -> np.ndarray:
        return self._layout.group(self._tally.table, CUMULATIVE)

    def average_probabilities(self) -> np.ndarray:  # noqa: D102
        strategy = np.empty(self.game.n_sequences)
        evaluation.normalise(self.game.form, self._cumulative(), strategy)
        return strategy

    def evaluate(self) -> Evaluation:  # noqa: D102
        return evaluate_probabilities(self.game, self.average_probabilities())

    def evaluate_current(self) -> Evaluation:  # noqa: D102
        return evaluate_probabilities(self.game, self.current_policy().probabilities)


def walks_public_tree(game: CompiledGame, record: Sampling) -> bool:
    """Whether traversals go through the public tree, with hands drawn first or with all hands.

    They do if the game has no histories, unless the scheme visits all histories.
    """
    return record.scheme == "public" or not (game.by_histories or record.scheme == "whole")


def check_public(game: CompiledGame, record: Sampling) -> None:
    """Make sure that a game has the public tree that an algorithm walks.

    Raises:
        ValueError: It has none; says why.
    """
    if game.public is not None:
        return
    reason = (
        f"it has {game.n_players} players, and only games of two keep theirs"
        if game.n_players != 2
        else "it came in as histories, and they are no private hands on one public tree"
    )
    raise ValueError(
        f"{record.name} plays all private hands on the public tree; {game.name} has none: {reason}"
    )


def count_streams(game: CompiledGame, record: Sampling) -> int:
    """The streams from which a player's traversals draw; 0 where all draws are independent."""
    if record.draws == "independent":
        return 0
    if not walks_public_tree(game, record):
        return int(np.count_nonzero(game.tree.player == CHANCE))
    assert game.public is not None
    tree = game.public.tree
    chance = int(np.count_nonzero(tree.player == CHANCE))
    return max(1, chance) if record.scheme == "public" else 1 + chance * tree.prior.size


def layout_of(game: CompiledGame, record: Sampling, *, public: bool) -> TableLayout:
    """The contents and the layout of a solver's table.

    A traversal of a public tree under one deal visits an infoset once, so some fields of a block
    are not needed.  They are omitted: games without histories are large, and memory matters.
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
    """Bytes that a solver takes in addition to the compiled game: its table, the tree that it
    traverses, and the arrays that a solution keeps.

    Args:
        game: The game.
        record: The algorithm.
        public: Whether it traverses the public tree; by default, as a solver would.
    """
    public = walks_public_tree(game, record) if public is None else public
    queue = record.scheme in ("whole", "chance")
    all_hands = record.scheme == "public"
    layout = layout_of(game, record, public=public)
    walked = bytes_of(layout, queue=False, public=public, all_hands=all_hands)
    queued = bytes_of(layout, queue=queue, public=public, all_hands=all_hands) - walked
    # Baselines are put together from one array for each player, before the average is made.
    baselines = game.n_players if record.baseline > 0.0 else 0
    arrays = STATE_ARRAYS + baselines + max(AVERAGE_ARRAYS, baselines)
    kept = arrays * game.n_sequences + layout.has_header * game.n_infosets
    kept += 2 * game.n_players * count_streams(game, record)
    # A traversal has freed its queue when a solution is made.
    return walked + max(queued, 8 * kept)


def refuse_seed_beside(state: object, seed: Seed | None) -> None:
    """Make sure that a solver does not begin with both a state and a seed.

    Raises:
        ValueError: It would.
    """
    if state is not None and seed is not None:
        raise ValueError("a state brings its own random numbers: give no seed with it")


def check_seed(seed: Any) -> Seed:
    """Validate and normalise a seed.

    Raises:
        ValueError: It is neither a whole number from 0 nor a sequence of such numbers.
    """
    parts = [seed] if is_whole(seed) else seed
    if not isinstance(parts, Sequence) or isinstance(parts, (str, bytes)) or not parts:
        raise ValueError(f"a seed is a whole number from 0, or several, not {brief(seed)}")
    if not all(is_whole(part) and part >= 0 for part in parts):
        raise ValueError(f"a seed is a whole number from 0, or several, not {brief(seed)}")
    numbers = [int(part) for part in parts]
    return numbers[0] if is_whole(seed) else numbers
