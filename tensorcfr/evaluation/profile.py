"""Values of a strategy profile at every action, computed chunk by chunk on demand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._util.aligned import aligned
from .._util.recent import Recent
from ..kernels import evaluation
from ..kernels.chunk_passes import ALL, CHUNKS, DOWN, UP
from ..kernels.evaluation import NO_LOOKS, ProfileArrays
from ..kernels.pass_arrays import ChunkScratch, Numbers, TrunkScratch, plain_numbers
from ..model.arrays import SequenceForm, frozen_array, frozen_arrays
from ..model.branch_shares import share_of_locks, some_chunks, visits_to
from ..model.chunked_form import ChunkedForm, ChunkLocks, part_of
from ..model.policy import KnownValues, Policy
from ..model.public_nodes import PublicNodes

Weights = Callable[[int, int], np.ndarray]
"""Function that returns weights from which regret matching makes strategies (strategies are their
own weights). It takes the first part and the part after the last of a game in chunks, and returns
float64 (numbers of those parts,). The trunk is part 0, and chunk ``c`` is part ``c + 1``."""
TOGETHER = 1 << 17
"""Largest count of numbers in the chunks of one kernel call: they fit the second-level cache.  One
call per small chunk would take longer than the work on it."""
STRATEGY, REACH, VALUE, BEST = range(4)
"""Rows of the arrays of a part: strategies; own reaches; counterfactual values; and counterfactual
values if the player continues with a best response, which ignores locks."""
ROWS = 4


class Actions(NamedTuple):
    """Strategies, reaches and values of some actions, in arrays of one shape."""

    strategy: np.ndarray
    """float64: probability of each action at its infoset."""
    reach: np.ndarray
    """float64: the player's own reach of the sequence that ends with the action."""
    value: np.ndarray
    """float64: counterfactual value of the sequence."""
    best: np.ndarray
    """float64: counterfactual value of the sequence if a best response follows."""


class ProfileValues:
    """Strategies, own reaches and counterfactual values of a profile.

    The arrays of the trunk are computed at construction, in a pass over all chunks.  The arrays of
    a chunk are computed on demand.

    Args:
        game: Trunk and chunks.
        weight: Weights from which regret matching makes the strategies, such as a cumulative
            strategy.
        locks: Locked infosets, or None; best responses ignore them.
    """

    def __init__(self, game: ChunkedForm, weight: Numbers, locks: ChunkLocks | None) -> None:
        self._game, self._weight, self._locks = game, frozen_arrays(weight), locks
        self._trunk = np.zeros((ROWS, game.trunk.n_sequences))
        self._entries = np.zeros((2, game.n_entries))
        self._chunks = Recent()
        if not game.n_chunks:
            strategy = np.ones(game.trunk.n_sequences)
            evaluation.match_weights(game.trunk, self._weight.trunk, 0.0, strategy, locks)
            self._trunk = flat_profile(game.trunk, strategy)
        else:
            self._compute_trunk()

    def _compute_trunk(self) -> None:
        """Compute the arrays of the trunk."""
        below = np.zeros((ROWS, self._game.most_sequences))
        self._compute_values(self._game, self._weight, ALL, below)

    @property
    def known(self) -> KnownValues:
        """Values that remain known without the chunks' strategies, in new arrays."""
        return KnownValues(self._trunk[VALUE].copy(), self._entries[1].copy())

    @property
    def values(self) -> tuple[float, ...]:
        """Expected value of each player, in the unit of the arrays."""
        return tuple(self._trunk[VALUE, self._game.trunk.player_sequences[:-1]].tolist())

    @property
    def best_responses(self) -> tuple[float, ...]:
        """Value of each player's best response, in the unit of the arrays."""
        return tuple(self._trunk[BEST, self._game.trunk.player_sequences[:-1]].tolist())

    def at(self, numbers: np.ndarray) -> Actions:
        """Return strategies, reaches and values at some numbers of the game.

        All numbers must be in one chunk, or all in the trunk.
        """
        part = part_of(self._game, numbers)
        base = int(self._game.sequence_offset[part - 1]) if part else 0
        rows = self.of_part(part)[:, numbers - base]
        return Actions(rows[STRATEGY], rows[REACH], rows[VALUE], rows[BEST])

    def of_part(self, part: int) -> np.ndarray:
        """Return the arrays of the trunk, part 0, or of chunk ``part - 1``.

        Returns:
            float64 (ROWS, sequences of the part).
        """
        return self._trunk if part == 0 else self._chunks.get(part - 1, self._of_chunk)

    def raised(self, chunk: int) -> tuple[float, ...]:
        """Return how far the best responses may exceed :attr:`best_responses` because of a chunk.

        It is 0 for each player if :attr:`best_responses` are of the same strategies as the chunk.
        """
        return (0.0,) * self._game.n_players

    def _of_chunk(self, chunk: int) -> np.ndarray:
        rows = np.zeros((ROWS, self._game.most_sequences))
        self._compute_values(visits_to(self._game, chunk), self._weight, CHUNKS, rows)
        # A chunk's sequences begin at its scratch offset, behind those of its ancestors.
        return rows[:, self._game.scratch_offset[chunk] :]

    def _compute_values(
        self, game: ChunkedForm, weight: Numbers, stage: int, below: np.ndarray
    ) -> None:
        """Compute the arrays of the trunk and of the chunks that the game's passes visit.

        ``below`` keeps the arrays of the chunk that is visited last.
        """
        trunk = self._trunk
        looks = ProfileArrays(
            trunk[STRATEGY], trunk[VALUE], self._entries[0], below[STRATEGY], below[VALUE]
        )
        arguments = game, stage, 0, 1, weight, 0.0
        rows = trunk[REACH], trunk[BEST], self._entries[1], below[REACH], below[BEST]
        scratch = _scratch(*rows, dtype=weight.trunk.dtype)
        evaluation.evaluate_chunked(*arguments, *scratch, *results_for(game), looks, self._locks)


class ValuesFromEntries(ProfileValues):
    """Values of a profile whose chunks are computed one by one on demand, from known entry values.

    Args:
        game: Trunk and chunks, where no chunk has a chunk below it.
        parts: Function from a part to its strategies, float64 (numbers of the part,); the trunk is
            part 0.
        known: Values of the trunk and of the entries, which need no strategies of the chunks.
    """

    def __init__(
        self, game: ChunkedForm, parts: Callable[[int], np.ndarray], known: KnownValues
    ) -> None:
        self._parts, self._known = parts, known
        super().__init__(game, plain_numbers(parts(0)), None)

    def _compute_trunk(self) -> None:
        below = np.zeros((ROWS, self._game.most_sequences))
        self._compute_values(self._game, self._weight, DOWN, below)
        # The pass up uses the stored values of the entries in place of a pass over all chunks.
        self._entries[1] = self._known.best
        self._compute_values(self._game, self._weight, UP, below)
        self._trunk[VALUE] = self._known.trunk

    def _of_chunk(self, chunk: int) -> np.ndarray:
        chunk_form = some_chunks(self._game, chunk, chunk + 1)
        strategies = aligned(chunk_form.n_numbers, self._trunk.dtype)
        strategies[chunk_form.number_offset[0] :] = self._parts(chunk + 1)
        rows = np.zeros((ROWS, self._game.most_sequences))
        self._compute_values(
            visits_to(chunk_form, 0), frozen_arrays(plain_numbers(strategies)), CHUNKS, rows
        )
        return rows

    def raised(self, chunk: int) -> tuple[float, ...]:
        """Return by how much a chunk's entries are worth more to best responses than is known.

        The sum over each player's entries is in the unit of the arrays.
        """
        self.of_part(chunk + 1)
        increase = np.maximum(self._entries[1] - self._known.best, 0.0)
        offset = self._game.entry_offset[chunk]
        return tuple(float(increase[begin:end].sum()) for begin, end in pairwise(offset.tolist()))


def flat_profile(form: SequenceForm, strategy: np.ndarray) -> np.ndarray:
    """Compute the rows of :data:`ROWS` for a game without chunks, float64 (ROWS, sequences).

    Args:
        form: The game.
        strategy: float64 (sequences,): behaviour strategies.
    """
    rows, (expected, best) = np.zeros((ROWS, form.n_sequences)), np.empty((2, form.n_players))
    rows[STRATEGY] = strategy
    compute_values(form, rows[STRATEGY], rows[REACH], rows[VALUE])
    evaluation.evaluate_flat(form, rows[REACH], rows[BEST], expected, best, None)
    return rows


def compute_values(
    form: SequenceForm, strategy: np.ndarray, reach: np.ndarray, value: np.ndarray
) -> None:
    """Compute own reaches and counterfactual values in a game without chunks.

    Args:
        form: The game.
        strategy: float64 (sequences,): behaviour strategies.
        reach: float64 (sequences,): own reaches; written.
        value: float64 (sequences,): counterfactual values; written.
    """
    strategy, unused = frozen_array(strategy), np.zeros((2, form.n_sequences))
    evaluation.realization_plan(form, strategy, reach)
    for player in range(form.n_players):
        evaluation.add_regrets(form, player, strategy, reach, value, *unused, None)


def evaluate_weights(
    game: ChunkedForm,
    weights: Weights,
    locks: ChunkLocks | None,
    progress: Callable[[int, int], object] | None = None,
    together: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate the strategies that regret matching makes from weights, in one pass over the chunks.

    Best responses play the locks, too.  Values are in the unit of the arrays.

    Args:
        game: Trunk and chunks.
        weights: Function that is called for the trunk, and then for a few chunks at a time, in
            order.  Arrays that it returned earlier are not read again.
        locks: Locked infosets, or None.
        progress: Called with the number of chunks done and the number of all chunks.
        together: Largest count of numbers per call of ``weights``, but at least those of one chunk
            and the chunks below it; by default :data:`TOGETHER`.

    Returns:
        Expected values, float64 (players,), and values of best responses, float64 (players,).
    """
    reach, value = np.zeros((2, game.trunk.n_sequences))
    below, entries = np.zeros((2, game.most_sequences)), np.zeros(game.n_entries)
    scratch = _scratch(reach, value, entries, *below, dtype=reach.dtype)
    expected, best = results_for(game)
    trunk = frozen_arrays(plain_numbers(weights(0, 1)))
    sums = expected, best, NO_LOOKS
    evaluation.evaluate_chunked(game, DOWN, 0, 1, trunk, 0.0, *scratch, *sums, locks)
    # A batch consists of whole branches, because a chunk is evaluated together with the chunk from
    # which it is entered.
    bounds = np.append(np.flatnonzero(game.parent_part == 0), game.n_chunks)
    numbers, weight_buffer, branch = game.number_offset[bounds], np.zeros(0), 0
    together = TOGETHER if together is None else together
    while branch < len(bounds) - 1:
        # As many branches as have at most `together` numbers, but at least one.
        after = int(np.searchsorted(numbers, numbers[branch] + together, side="right")) - 1
        begin, branch = int(bounds[branch]), max(branch + 1, after)
        end = int(bounds[branch])
        batch = some_chunks(game, begin, end)
        # One buffer serves all batches.  The numbers before `number_offset[0]` are the
        # trunk's and are not read.
        if batch.n_numbers > len(weight_buffer):
            weight_buffer = aligned(batch.n_numbers, reach.dtype)
        weight_buffer[batch.number_offset[0] : batch.n_numbers] = weights(begin + 1, end + 1)
        batch_expected = expected[begin : end + 1]
        locked = share_of_locks(locks, game, begin, end, batch)
        batch_weights = frozen_arrays(plain_numbers(weight_buffer))
        arguments = batch, CHUNKS, 0, 1, batch_weights, 0.0, *scratch
        evaluation.evaluate_chunked(*arguments, batch_expected, best, NO_LOOKS, locked)
        if progress is not None:
            progress(end, game.n_chunks)
    evaluation.evaluate_chunked(game, UP, 0, 1, trunk, 0.0, *scratch, *sums, locks)
    return expected.sum(axis=0), best


def evaluation_bytes(game: ChunkedForm, together: int = TOGETHER) -> int:
    """Return the largest number of bytes that :func:`evaluate_weights` takes.

    They are three arrays of the trunk and of a chunk, the values of the entries, and the numbers of
    a batch three times: here, and twice in the function that computes the weights.
    """
    batch_numbers = 0
    if game.n_chunks:
        branches = np.append(game.number_offset[:-1][game.parent_part == 0], game.n_numbers)
        batch_numbers = min(game.n_numbers, max(together, int(np.diff(branches).max())))
    return 8 * (3 * (game.trunk.n_sequences + game.most_sequences + batch_numbers) + game.n_entries)


def _scratch(
    reach: np.ndarray,
    value: np.ndarray,
    entries: np.ndarray,
    reach_below: np.ndarray,
    value_below: np.ndarray,
    *,
    dtype: np.dtype,
) -> tuple[TrunkScratch, ChunkScratch]:
    room = aligned(len(reach_below), dtype)
    return TrunkScratch(reach, value, entries), ChunkScratch(reach_below, value_below, room)


def results_for(game: ChunkedForm) -> tuple[np.ndarray, np.ndarray]:
    """Allocate the results of :func:`tensorcfr.kernels.evaluation.evaluate_chunked`.

    Returns:
        Expected values by part, float64 (chunks + 1, players), and values of best responses,
        float64 (players,).
    """
    return np.zeros((game.n_chunks + 1, game.n_players)), np.empty(game.n_players)


def profile_of(policy: Policy) -> ProfileValues:
    """Create the values of a policy."""
    if policy.known is not None:
        return ValuesFromEntries(policy.game.chunks, policy.part, policy.known)
    weights, locks = policy.matching_inputs()
    return ProfileValues(policy.game.chunks, Numbers(*weights), locks)


def own_reach(
    nodes: PublicNodes, actions_at: Callable[[np.ndarray], Actions], node: int, player: int
) -> np.ndarray:
    """Compute a player's own reach of a public node with every hand.

    Returns:
        float64 (hands,); 0 for hands that are impossible on the way to the node.
    """
    # From the node up: the last action of the player on the way already has the product of all.
    for decision, acts, action in reversed(list(nodes.decisions_on_path(node))):
        layout = nodes.layout(decision) if acts == player else None
        if layout is not None and layout.stride:
            hands = np.arange(len(layout.lane))
            reach = actions_at(layout.numbers(hands)[:, action]).reach
            return np.where(layout.lane >= 0, reach, 0.0)
    return np.ones(len(nodes.hands[player]))


def strategies_at(policy: Policy, nodes: PublicNodes, node: int) -> np.ndarray:
    """Return the strategies at a decision.

    Returns:
        float64 (hands, actions); 0 for hands that are impossible there.
    """
    layout = nodes.layout(node)
    probabilities = policy.at(layout.numbers(np.arange(len(layout.lane))))
    return np.where(layout.lane[:, None] >= 0, probabilities, 0.0)


def own_reach_of(policy: Policy, nodes: PublicNodes, node: int, player: int) -> np.ndarray:
    """Compute the reaches of :func:`own_reach` from the strategies on the way, without values."""
    reach = np.ones(len(nodes.hands[player]))
    for decision, acts, action in nodes.decisions_on_path(node):
        if acts == player:
            reach *= strategies_at(policy, nodes, decision)[:, action]
    return reach
