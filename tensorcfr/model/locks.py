"""Node locks: infosets with a fixed strategy, or with some fixed probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, NamedTuple

import numpy as np

from .._util.argument_checks import brief, checked
from .arrays import FREE
from .chunked_form import ChunkedForm, ChunkLocks, buckets_of, most_buckets
from .compiled_game import CompiledGame
from .game_arguments import LOCKS, Compiled
from .infoset import refuse_unknown
from .policy import PROBABILITY, SUM_TOLERANCE, suggest_label

LocksLike = Mapping[str, Mapping[str, float]]
"""Probabilities by infoset label and action label."""
RESTRICTED, DATA_BIASED = "restricted", "data-biased"


class PlayerModel(NamedTuple):
    """Model of a player of a two-player game, which the player partly plays.

    Make one with :func:`tensorcfr.analysis.model_locks`.
    """

    player: int
    """The player."""
    method: str
    """:data:`RESTRICTED`: before the game a coin decides whether the player is the model or is
    free.  :data:`DATA_BIASED`: each action has a least probability."""
    weight: float
    """Probability that the player is the model; 0 for :data:`DATA_BIASED`."""
    numbers: np.ndarray
    """float64 (numbers of a policy,): the model's strategy, or least probabilities; 0 for the other
    player and at empty sequences."""

    def __eq__(self, compared: object) -> bool:
        return (
            isinstance(compared, PlayerModel)
            and self[:3] == compared[:3]
            and np.array_equal(self.numbers, compared.numbers)
        )

    def __ne__(self, compared: object) -> bool:
        return not self == compared

    @property
    def description(self) -> str:
        """Short text: ``"player 1 plays a model with probability 0.5"``."""
        if self.method == RESTRICTED:
            return f"player {self.player} plays a model with probability {self.weight:g}"
        return f"player {self.player} has least probabilities"


class Locks(Mapping[str, dict[str, float]]):
    """Locks of a game: infoset label to action to probability.

    An action without a probability is free.  The free actions of an infoset share the remaining
    probability in proportion to the strategy that the local rule computes for them.

    >>> from tensorcfr import compile_game
    >>> Locks(compile_game("kuhn"), {"K": {"bet": 1}})["K"]
    {'pass': 0.0, 'bet': 1.0}

    In a card game a label names hands and a line, and may lock many infosets at once:
    ``"AA-TT,AKs check bet66"``, ``"* check check 7s"`` for all hands, and ``"QQ+ check check *"``
    for all cards that can come.  If two locks name the same infoset, the later one takes
    precedence.

    Args:
        game: The game.
        given: For some infoset labels, probabilities of some or all actions.  If they sum to 1, the
            other actions have probability 0; if one action is left, it has the rest.

    Raises:
        ValueError: An infoset or an action is unknown, or the probabilities of an infoset cannot be
            part of a distribution; names the infoset.
    """

    model: PlayerModel | None = None
    """Model that a player partly plays, or None."""

    @checked()
    def __init__(self, game: Compiled, given: Annotated[LocksLike, LOCKS]) -> None:
        self.game = game
        self.part_locks: dict[bool, ChunkLocks] = {}
        """Locks of a model in the form that kernels take, by whether infosets are merged: they take
        a pass over the game to compute."""
        if isinstance(given, Locks) and given.model is not None:
            if given.game.digest != game.digest:
                raise ValueError(
                    f"the model is for another game than {game.name}, {given.game.name}: their "
                    "infosets or utilities differ; model_locks makes one for each game"
                )
            self.model = given.model
        self._rows: dict[str, np.ndarray] = {}
        self._actions: dict[str, tuple[str, ...]] = {}
        for label in given:
            try:
                name, actions = game.lockable(label)
            except KeyError:
                raise ValueError(
                    f"{game.name} has no infoset {label!r} to lock; {suggest_label(game, label)}"
                ) from None
            row = _row(label, actions, given[label])
            if (row != FREE).any() and len(actions) > 1:
                # Remove it first, so that the later lock is also the last in the order of
                # iteration.
                self._rows.pop(name, None)
                self._rows[name] = row
                self._actions[name] = actions

    def __getitem__(self, label: str) -> dict[str, float]:
        row = self._rows[label]
        return {a: p for a, p in zip(self._actions[label], row.tolist(), strict=True) if p != FREE}

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __bool__(self) -> bool:
        return bool(self._rows) or self.model is not None

    def __eq__(self, compared: object) -> bool:
        model = compared.model if isinstance(compared, Locks) else None
        return self.model == model and Mapping.__eq__(self, compared)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.description or '0 infosets locked'} in {self.game.name}>"

    @property
    def description(self) -> str:
        """Short text, ``"3 infosets locked"``; empty without locks."""
        texts = [f"{len(self):,} infosets locked"] if self._rows else []
        texts += [self.model.description] if self.model is not None else []
        return ", ".join(texts)

    def probabilities(self) -> np.ndarray:
        """Return the locked probabilities as an array of a policy, float64 (numbers,), ``FREE``
        elsewhere.

        Raises:
            ValueError: Infosets that are merged in the game are locked differently.
        """
        return self.game.locked(self._rows)

    def numbers(self, form: ChunkedForm) -> np.ndarray:
        """Return the locked probabilities over the numbers of a solver, float64 (numbers,),
        ``FREE`` elsewhere.

        Args:
            form: The form that the solver works on; see :func:`part_locks`.

        Raises:
            ValueError: Infosets that are merged in the game are locked differently.
        """
        whole = self.probabilities()
        merged = whole if form.trunk is self.game.chunks.trunk else self.game.merge_array(whole)
        return whole if merged is None else merged

    @property
    def keeps_symmetry(self) -> bool:
        """True if infosets that are merged in the merged game are locked in the same way."""
        arrays = [self.probabilities()] if self._rows else []
        arrays += [self.model.numbers] if self.model is not None else []
        return all(self.game.merge_array(array) is not None for array in arrays)


def locks_for(game: CompiledGame, locks: LocksLike | None) -> Locks:
    """Return the locks of a game; no locks if none are given."""
    if isinstance(locks, Locks) and locks.game is game:
        return locks
    return Locks(game, locks or {})


def lane_locks(form: ChunkedForm, locks: Locks) -> ChunkLocks:
    """Return locked infosets in the form that kernels take, without the model.

    Args:
        form: The form that the game's solver works on: the game in chunks, the flat game as a
            trunk, or its merged game if the locks keep the symmetry.
        locks: The locks.

    Raises:
        ValueError: Infosets that are merged in the game are locked differently.
    """
    probability = locks.numbers(form)
    locked = np.flatnonzero(probability != FREE)
    # The trunk is part 0, and chunk c part c + 1.
    parts = np.searchsorted(form.number_offset[:-1], locked, side="right")
    base, rows = np.append(0, form.sequence_offset), []
    for part in np.unique(parts).tolist():
        sequence, actions, lanes = buckets_of(form, part)
        sequences = locked[parts == part] - base[part]
        bucket = np.searchsorted(sequence, sequences, side="right") - 1
        lane = (sequences - sequence[bucket]) % lanes[bucket]
        # A lock has a number for each action; take each pair of bucket and lane once, in order.
        for b, lane_index in np.unique(np.stack([bucket, lane]), axis=1).T.tolist():
            first = base[part] + sequence[b] + lane_index
            rows.append(
                (part, b, lane_index, probability[first + lanes[b] * np.arange(actions[b])])
            )
    part_of, bucket_of, lane_of, row_of = zip(*rows, strict=True) if rows else ((), (), (), ())
    ends = np.cumsum([0, *map(len, row_of)])
    return ChunkLocks(
        part=np.searchsorted(part_of, np.arange(form.n_chunks + 2)),
        bucket=np.array(bucket_of, dtype=np.int64),
        lane=np.array(lane_of, dtype=np.int64),
        offset=ends[:-1],
        probability=np.concatenate([np.zeros(0), *row_of]),
        most_buckets=np.array([most_buckets(form)]),
        modelled=np.array([-1]),
        least=np.zeros(0),
        share=np.ones(1),
        payoff=np.zeros(0),
    )


def as_floats(locks: ChunkLocks | None, dtype: np.dtype) -> ChunkLocks | None:
    """Return locks whose arrays over all numbers have a dtype, as kernels need for their speed."""
    if locks is None:
        return None
    return locks._replace(
        **{name: getattr(locks, name).astype(dtype) for name in ("least", "share", "payoff")}
    )


def _row(label: str, actions: tuple[str, ...], probabilities: Mapping[str, float]) -> np.ndarray:
    """Return the locked probabilities of an infoset, ``FREE`` for a free action."""
    if not isinstance(probabilities, Mapping):
        raise TypeError(
            f"locks: a lock of {label!r} must map actions to numbers, not {brief(probabilities)}"
        )
    refuse_unknown(label, probabilities, actions)
    # An infoset with one action has only one strategy.
    if len(probabilities) < len(actions) == 1:
        return np.ones(1)

    def locked_to(action: str) -> float:
        name = f"locks: the probability of {action!r} at {label!r}"
        return float(PROBABILITY(name, probabilities.get(action, FREE)))

    row = np.array([locked_to(action) for action in actions])
    locked = np.array([action in probabilities for action in actions])
    total = float(row[locked].sum())
    # Negated, so that NaN is refused.
    if not ((row[locked] >= 0).all() and total <= 1 + SUM_TOLERANCE):
        raise ValueError(
            f"infoset {label!r} cannot be locked to {dict(probabilities)}: probabilities "
            "must be at least 0 and sum to at most 1"
        )
    if locked.all() and total < 1 - SUM_TOLERANCE:
        raise ValueError(
            f"all actions of infoset {label!r} are locked, and their probabilities sum to "
            f"{total:g}, not to 1"
        )
    if total >= 1 - SUM_TOLERANCE:
        row[~locked] = 0.0
    elif np.count_nonzero(~locked) == 1:
        row[~locked] = 1.0 - total
    return row
