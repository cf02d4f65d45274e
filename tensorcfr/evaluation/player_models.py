"""Games in which a player partly plays a model: restrictions, payoffs against it, and values.

Sources: M. Johanson, M. Zinkevich, M. Bowling, "Computing robust counter-strategies", NIPS 2007
(restricted Nash responses); M. Johanson, M. Bowling, "Data biased robust counter strategies",
AISTATS 2009 (data-biased responses).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Kind, Number, OneOf, Whole, brief, checked
from ..formats.policies import find_policy
from ..kernels.chunk_passes import first_entry
from ..kernels.pass_arrays import plain_numbers
from ..kernels.shapes import shape_form
from ..model.arrays import FREE, SequenceForm, frozen_array, not_none
from ..model.chunked_form import ChunkedForm, ChunkLocks, bounds_of_parts
from ..model.compiled_game import CompiledGame
from ..model.game_arguments import Compiled
from ..model.infoset import refuse_unknown
from ..model.locks import DATA_BIASED, RESTRICTED, Locks, PlayerModel, lane_locks
from ..model.policy import Policy, suggest_label
from .profile import STRATEGY, VALUE, ProfileValues, Weights

COUNT = Number(least=0, finite=True)
COUNTS = Mapping[str, Mapping[str, float]]
CountsByLabel = Annotated[
    COUNTS | None, Kind((Mapping, type(None)), "counts by infoset label and action label")
]
Trust = Annotated[float, Number(least=0, most=1)]
FullAt = Annotated[float, Number(above=0)]
Method = Annotated[str, OneOf((DATA_BIASED, RESTRICTED))]


@checked()
def model_locks(
    game: Compiled,
    model: Any,
    player: Annotated[int, Whole(0, 1)],
    weight: Trust,
    *,
    method: Method = RESTRICTED,
    counts: CountsByLabel = None,
    full_at: FullAt = 10,
) -> Locks:
    """Return locks with which a player partly plays a model; pass them to :func:`tensorcfr.solve`.

    With the method ``"restricted"``, a coin decides once before the game whether the player is the
    model, with probability ``weight``, or is free; the other player does not see it.  With
    ``"data-biased"``, each action has the least probability ``weight`` times confidence times its
    probability in the model, and the free strategy gets the rest.

    The solution is an equilibrium of this restricted game; the other player's strategy in it is the
    response to the model.  Values, best responses and exploitability of the solution are those of
    the restricted game.  Without these locks, :func:`tensorcfr.evaluate` computes them in the real
    game.  With ``"restricted"``, the solution's strategy of ``player`` is the one played when the
    coin leaves the player free.

    >>> from tensorcfr import compile_game, evaluate, solve
    >>> from tensorcfr.analysis import model_locks
    >>> game = compile_game("kuhn")
    >>> calls = {"Jb": {"bet": 0.5, "pass": 0.5}}
    >>> response = solve(game, iters=1000, locks=model_locks(game, calls, 1, 0.5))
    >>> bool(response.value[0] > -1 / 18)
    True

    Args:
        game: A two-player game of constant sum.
        model: The model, in any form that :func:`tensorcfr.formats.find_policy` reads; strategies
            of the other player are ignored.  Or probabilities by label, as for
            :class:`tensorcfr.Locks`: infosets without them are uniform, without any confidence.
            None for the uniform strategy everywhere.
        player: The player who is modelled.
        weight: Trust in the model, from 0 to 1.
        method: ``"restricted"`` or ``"data-biased"``.
        counts: Number of times that the player took each action, by infoset label and action
            label.  They replace the model at these infosets.  The confidence of an infoset is
            ``min(1, count / full_at)``, for ``"data-biased"`` only; without counts it is 1
            everywhere.
        full_at: Count of an infoset from which the confidence in it is full.

    Raises:
        ValueError: Some counts are not for ``player``, or are for an unknown infoset or action;
            names it.  Or the game does not have two players and constant sum.
    """
    check_constant_sum(game)
    strategy, confidence = modelled_strategy(game, model, player, counts, full_at)
    strategy = np.where(sequences_of(game.chunks, player), strategy, 0.0)
    if method == RESTRICTED:
        return locks_of_model(game, strategy, player, RESTRICTED, weight)
    return locks_of_model(game, weight * confidence * strategy, player, DATA_BIASED, 0.0)


def locks_of_model(
    game: CompiledGame, numbers: np.ndarray, player: int, method: str, weight: float
) -> Locks:
    """Return the locks of a :class:`PlayerModel` with these fields.

    Raises:
        ValueError: The numbers are not those of a model of this player.
    """
    check_constant_sum(game)
    numbers = np.asarray(numbers)
    if numbers.shape != (game.n_numbers,) or numbers.dtype != np.float64:
        raise ValueError(
            f"a model of {game.name} has {game.n_numbers:,} numbers, float64, not "
            f"{numbers.dtype} {numbers.shape}"
        )
    # Negated, so that NaN is refused.
    if not ((numbers >= 0.0) & (numbers <= 1.0)).all():
        raise ValueError("the model has a number that is not a probability")
    locks = Locks(game, {})
    locks.model = PlayerModel(player, method, float(weight), frozen_array(numbers))
    return locks


def check_constant_sum(game: CompiledGame) -> None:
    """Check that a game has two players and a constant sum.

    Raises:
        ValueError: It does not.
    """
    if game.n_players != 2:
        raise ValueError(
            f"a response to a model needs two players, and {game.name} has {game.n_players}"
        )
    if not game.constant_sum:
        least, most = game.utility_sums
        raise ValueError(
            f"a response to a model needs a constant sum, and the utilities of {game.name} sum to "
            f"{least:g} at one terminal and to {most:g} at another"
        )


def modelled_strategy(
    game: CompiledGame, model: Any, player: int, counts: COUNTS | None, full_at: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the strategies of a model with its counts, and the confidence in them.

    Args:
        game: The game.
        model: The model; None for the uniform strategy.
        player: The player who is modelled.
        counts: The counts, or None for full confidence.
        full_at: Count from which the confidence is full.

    Returns:
        The model's strategies, and the confidence in each infoset at its numbers; float64
        (numbers,) each.
    """
    strategy, confidence = _strategy_of(game, model, player)
    if counts is None:
        return strategy, confidence
    # Infosets that are merged share their numbers: their counts are added, and the confidence is
    # that of the mean count.
    taken, totals, labels = np.zeros((3, game.n_numbers))
    for label, row in counts.items():
        try:
            infoset = game.locate(label)
        except KeyError:
            raise ValueError(
                f"{game.name} has no infoset {brief(label)}; {suggest_label(game, label)}"
            ) from None
        if infoset.player != player:
            raise ValueError(f"counts: player {infoset.player} acts at {label!r}, not {player}")
        if not isinstance(row, Mapping):
            raise TypeError(f"counts of {label!r} must map actions to counts, not {brief(row)}")
        refuse_unknown(label, row, infoset.actions)
        numbers = [
            COUNT(f"counts: {action!r} at {label!r}", row.get(action, 0))
            for action in infoset.actions
        ]
        taken[infoset.numbers] += numbers
        totals[infoset.numbers] += sum(numbers)
        labels[infoset.numbers] += 1.0
    np.divide(taken, totals, out=strategy, where=totals > 0.0)
    return strategy, np.minimum(1.0, totals / np.maximum(labels, 1.0) / float(full_at))


def _strategy_of(game: CompiledGame, model: Any, player: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the strategies of a model, and 1 where it has one, both float64 (numbers,)."""
    uniform = Policy.uniform(game).probabilities
    if model is None:
        return np.array(uniform), np.ones(game.n_numbers)
    if not isinstance(model, Mapping) or isinstance(model, Policy):
        return np.array(find_policy(game, model, "model").probabilities), np.ones(game.n_numbers)
    # Locks read labels of hands and lines, and check the probabilities.
    checked_model = Locks(game, model)
    for label, row in checked_model.items():
        if len(row) < len(game.lockable(label)[1]):
            raise ValueError(
                f"the model's probabilities at {label!r} sum to {sum(row.values()):g}, not to 1"
            )
    probabilities = checked_model.probabilities()
    known = (probabilities != FREE) & sequences_of(game.chunks, player)
    if model and not known.any():
        raise ValueError(f"the model has no infoset of player {player} with several actions")
    return np.where(known, probabilities, uniform), known.astype(np.float64)


def parts_of(form: ChunkedForm) -> Iterator[tuple[int, int, SequenceForm]]:
    """Yield the number of each part, the number of its sequence 0, and its sequence form."""
    yield 0, 0, form.trunk
    for c in range(form.n_chunks):
        shape = shape_form(not_none(form.shapes), form.shape[c])
        yield c + 1, int(form.sequence_offset[c]), shape


def sequences_of(form: ChunkedForm, player: int) -> np.ndarray:
    """Return which numbers belong to infosets of a player, bool (numbers,)."""
    belongs = np.zeros(form.n_numbers, dtype=bool)
    for _, base, part in parts_of(form):
        for bucket in part.buckets_of(player):
            belongs[base:][bucket.sequences] = True
    return belongs


def part_locks(game: CompiledGame, form: ChunkedForm, locks: Locks | None) -> ChunkLocks | None:
    """Return locks of trunk and chunks in the form that kernels take; None without locks.

    Args:
        game: The game.
        form: The form that its solver works on: the game in chunks, the flat game as a trunk, or
            its merged game if the locks keep the symmetry.
        locks: The locks.

    Raises:
        ValueError: Infosets that are merged in the game are locked differently.
    """
    if not locks:
        return None
    model = locks.model
    if model is None:
        return lane_locks(form, locks)
    merged = form.trunk is not game.chunks.trunk
    if merged not in locks.part_locks:
        numbers = game.merge_array(model.numbers) if merged else model.numbers
        assert numbers is not None, "locks are converted only to forms that they fit"
        kernel_locks = lane_locks(form, locks)._replace(modelled=np.array([model.player]))
        if model.method == RESTRICTED:
            payoff = model.weight * payoffs_against(form, numbers, 1 - model.player)
            kernel_locks = kernel_locks._replace(
                payoff=payoff, share=np.array([1.0 - model.weight])
            )
        else:
            # The model's array is read-only: kernels would be compiled for that, too.
            kernel_locks = kernel_locks._replace(least=numbers.copy())
        locks.part_locks[merged] = kernel_locks
    return locks.part_locks[merged]


def payoffs_against(form: ChunkedForm, strategy: np.ndarray, player: int) -> np.ndarray:
    """Compute a player's counterfactual payoffs of each sequence against a strategy.

    They are the payoffs of the terminals whose last sequence of the player it is, before any values
    are passed up.  They are derived from the values of all sequences under some strategy of the
    player, from which the values of the infosets after each sequence are subtracted.

    Args:
        form: The game.
        strategy: float64 (numbers,): strategies of the other player.
        player: The player.

    Returns:
        float64 (numbers,): 0 for the other player.  Payoffs of the entries of a chunk belong to the
        sequences before the chunk.
    """
    profile = ProfileValues(form, plain_numbers(strategy), None)
    payoff = np.zeros(form.n_numbers)
    empty = form.trunk.player_sequences[player]
    payoff[empty] = profile.of_part(0)[VALUE, empty]
    numbers_above: dict[int, np.ndarray] = {}
    parts_above = set(form.parent_part.tolist())
    for part, base, part_form in parts_of(form):
        rows = profile.of_part(part)
        # Number of each sequence.  An entry has that of its sequence in the part above, which may
        # be an entry, too.
        numbers = base + np.arange(part_form.player_sequences[-1])
        if part:
            entries = form.entries(part - 1, player)
            first = int(first_entry(form, part - 1, player))
            above = numbers_above[int(form.parent_part[part - 1])]
            numbers[first : first + len(entries)] = above[entries]
        if part in parts_above:
            numbers_above[part] = numbers
        for bucket in part_form.buckets_of(player):
            strategy_table, value = bucket.table(rows[STRATEGY]), bucket.table(rows[VALUE])
            payoff[base:][bucket.sequences] += value.ravel()
            parents = part_form.infoset_parent[bucket.infosets].astype(np.int64)
            np.subtract.at(payoff, numbers[parents], (strategy_table * value).sum(axis=0))
    if (copies := form.trunk.copies) is not None:
        # The first copy has the payoffs of all, and the others have none.
        total = np.bincount(copies.first, payoff[copies.sequence], form.n_numbers)
        payoff[copies.sequence] = total[copies.sequence]
    return payoff


def free_weights(form: ChunkedForm, parts: Weights, locks: ChunkLocks | None) -> Weights:
    """Return weights of the free strategy of each infoset, from strategies that play a model.

    They are the probabilities above the least ones, so that strategies which have at least these
    probabilities are made from them again.

    Args:
        form: The game.
        parts: Strategies by parts.
        locks: The locks, or None.
    """
    if locks is None or not locks.least.size:
        return parts
    bounds, least = bounds_of_parts(form), locks.least

    def weights(first: int, last: int) -> np.ndarray:
        above: np.ndarray = parts(first, last) - least[bounds[first] : bounds[last]]
        return above.clip(min=0.0)

    return weights


def restricted_results(
    game: CompiledGame, locks: ChunkLocks | None, values: np.ndarray, best: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Convert the results of an evaluation to those of the game in which a player is restricted.

    Kernels evaluate the modelled player as if the coin always left them free; the sum of the game
    gives the payoffs of the model.

    Args:
        game: The game, of constant sum.
        locks: The locks, or None.
        values: float64 (players,): expected values.
        best: float64 (players,): values of best responses.

    Returns:
        Expected values and values of best responses, float64 (players,) each.
    """
    if locks is None or not locks.payoff.size:
        return values, best
    player, share = int(locks.modelled[0]), float(locks.share[0])
    total = sum(game.utility_sums) / 2 / game.unit
    # The other player's payoffs against the model, times its probability.
    against_model = values[1 - player] - share * (total - values[player])
    values, best = values.copy(), best.copy()
    values[player] = total - values[1 - player]
    best[player] = share * best[player] + (1.0 - share) * total - against_model
    return values, best
