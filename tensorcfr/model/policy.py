"""Behaviour strategies of all players, read by infoset label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain, islice
from typing import Annotated, NamedTuple

import numpy as np

from .._util import html
from .._util.argument_checks import Kind, Number, brief, checked
from .._util.recent import Recent
from ..errors import Lookup, UnknownNameError, suggest
from .chunked_form import ChunkLocks, bounds_of_parts, buckets_by_part, part_of
from .compiled_game import CompiledGame
from .game_arguments import STRATEGIES, Compiled, Played
from .infoset import refuse_unknown
from .infoset_rows import InfosetRows, Located
from .sequence_table import Tabular

PROBABILITY = Number(counts="a number")
ROWS_SHOWN = 12
"""Number of infosets per player that a notebook shows."""
MOST_COMPARED = 10_000
"""Largest number of infosets of a game whose labels are all compared with an unknown label."""
SUM_TOLERANCE = 1e-9
"""Largest difference from 1 of the sum of an infoset's probabilities."""


MatchingInputs = tuple[tuple[np.ndarray, np.ndarray | None, np.ndarray], ChunkLocks | None]
"""Result of :meth:`Policy.matching_inputs`."""


class KnownValues(NamedTuple):
    """Values of a policy of a game in chunks, in the unit of the arrays."""

    trunk: np.ndarray
    """float64 (sequences of the trunk,): counterfactual values."""
    best: np.ndarray
    """float64 (entries,): counterfactual values of the entries of the chunks if their player plays
    a best response from there."""


class Policy(Tabular, Mapping[str, dict[str, float]]):
    """Behaviour strategy of every player: infoset label to action to probability.

    >>> policy["K"]["bet"]  # doctest: +SKIP
    0.72...

    Args:
        game: The game.
        probabilities: float64 (numbers,): probability of each infoset's action, over the sequences
            of a flat game or the numbers of a game in chunks; 1 for the empty sequences.  The array
            is not copied, and becomes read-only.

    Raises:
        ValueError: The array has another shape or dtype, or holds a number that is not a
            probability.
    """

    @checked()
    def __init__(
        self,
        game: Played,
        probabilities: Annotated[np.ndarray, Kind((np.ndarray,), "a NumPy array")],
    ) -> None:
        if probabilities.shape != (game.n_numbers,) or probabilities.dtype != np.float64:
            raise ValueError(
                f"the probabilities of {game.name} must be float64 ({game.n_numbers},), not "
                f"{probabilities.dtype} {probabilities.shape}"
            )
        # Negated, so that NaN is refused.
        wrong = ~((probabilities >= 0.0) & (probabilities <= 1.0 + SUM_TOLERANCE))
        if wrong.any():
            raise ValueError(
                f"a policy contains {float(probabilities[wrong][0])!r}, which is not a probability"
            )
        self.game = game
        self.probabilities = probabilities
        probabilities.flags.writeable = False

    known: KnownValues | None = None
    """Values that are known without the chunks, which take long to compute; None otherwise."""

    @classmethod
    @checked()
    def uniform(cls, game: Played) -> Policy:
        """Return the policy that plays all actions of an infoset with equal probability."""
        probabilities = np.ones(game.n_numbers)
        for base, buckets in buckets_by_part(game.chunks):
            for first, actions, lanes in zip(*buckets, strict=True):
                probabilities[base + first : base + first + actions * lanes] = 1.0 / actions
        return cls(game, probabilities)

    @classmethod
    @checked()
    def from_mapping(
        cls, game: Compiled, given: Annotated[Mapping[str, Mapping[str, float]], STRATEGIES]
    ) -> Policy:
        """Return a policy from probabilities by label.

        Args:
            game: The game.
            given: For every infoset label, action label to probability; actions left out have
                probability 0.

        Raises:
            ValueError: An infoset is missing or unknown, an action is unknown, the probabilities of
                an infoset are not a distribution, or infosets that are merged in the game have
                different strategies; names the infoset.
        """
        for label in given:
            try:
                game.locate(label)
            except KeyError:
                raise ValueError(
                    f"{game.name} has no infoset {brief(label)}; {suggest_label(game, label)}"
                ) from None

        def row(label: str, actions: tuple[str, ...]) -> np.ndarray:
            if label not in given:
                raise ValueError(f"the policy has no probabilities for infoset {label!r}")
            return _row(label, actions, given[label])

        return cls.from_rows(game, row)

    @classmethod
    def from_rows(
        cls, game: CompiledGame, row: Callable[[str, tuple[str, ...]], np.ndarray]
    ) -> Policy:
        """Return a policy from a function of infosets.

        Args:
            game: The game.
            row: Function from a label and its actions to float64 (actions,), a distribution.

        Raises:
            ValueError: Infosets that are merged in the game have different strategies.
        """
        filling = Filling(game)
        for player in range(game.n_players):
            for rows in game.rows(player):
                pairs = zip(rows.labels, rows.actions, strict=True)
                filling.put(rows, np.array([row(label, actions) for label, actions in pairs]))
        return cls(game, filling.probabilities)

    def to_dict(self, player: int | None = None) -> dict[str, dict[str, float]]:
        """Return a dict from infoset label to action to probability, of all players or of one.

        ``solve(game, locks=policy.to_dict(0))`` fixes player 0 to the policy.

        Raises:
            ValueError: There is no such player.
        """
        if player is None:
            return {
                label: row
                for number in range(self.game.n_players)
                for label, row in self.first_of(number).items()
            }
        if isinstance(player, bool) or player not in range(self.game.n_players):
            raise ValueError(
                f"{self.game.name} has players 0 to {self.game.n_players - 1}, not {player!r}"
            )
        return self.first_of(player)

    def first_of(self, player: int, most: int | None = None) -> dict[str, dict[str, float]]:
        """Return the strategies at the first infosets of a player, in the order of the game.

        Args:
            player: The player.
            most: Number of infosets; None for all.
        """
        listed = chain.from_iterable(
            zip(rows.labels, rows.actions, self.at(rows.numbers).tolist(), strict=True)
            for rows in self.game.rows(player)
        )
        return {
            name: dict(zip(actions, row, strict=True))
            for name, actions, row in islice(listed, most)
        }

    def moved_to(self, game: CompiledGame) -> Policy:
        """Return the same strategies in a game with the same infosets, chunked or flat.

        Raises:
            ValueError: The game has another infoset, or infosets that are merged in it have
                different strategies.
        """
        if game is self.game:
            return self

        def row(label: str, actions: tuple[str, ...]) -> np.ndarray:
            try:
                infoset = self.game.locate(label)
            except KeyError:
                infoset = None
            if infoset is None or infoset.actions != actions:
                raise ValueError(f"{self.game.name} has no infoset {label!r} like {game.name}")
            return self.at(infoset.numbers)

        return Policy.from_rows(game, row)

    def detach(self) -> None:
        """Copy the arrays that the policy shares with a running solver, if there are any."""

    def at(self, numbers: slice | np.ndarray) -> np.ndarray:
        """Return the probabilities at some numbers of the game, all of them in one chunk or in the
        trunk.  In a game in chunks, only that part is computed."""
        return self.probabilities[numbers]

    def parts(self, first: int, last: int) -> np.ndarray:
        """Return the probabilities in the parts from ``first`` to ``last - 1``, float64 (numbers of
        these parts,); the trunk is part 0, and chunk ``c`` part ``c + 1``."""
        begin, end = bounds_of_parts(self.game.chunks)[[first, last]].tolist()
        return self.probabilities[begin:end]

    def part(self, part: int) -> np.ndarray:
        """Return the probabilities in one part, as :meth:`parts` does; the array must not be
        changed."""
        return self.parts(part, part + 1)

    def matching_inputs(self) -> MatchingInputs:
        """Return the inputs of regret matching, from which the strategies are made.

        Returns:
            The numbers, their scales if they have 16 bits, and the numbers of the trunk; the locks
            that replace some strategies.
        """
        return (self.probabilities, None, self.probabilities), None

    def count_of(self, player: int) -> int:
        """Return the number of infosets of a player."""
        return self.game.count_of(player)

    def rows(self, player: int) -> Iterator[InfosetRows]:
        """Yield the infosets of a player, some at a time, with their numbers for :meth:`at`."""
        return self.game.rows(player)

    @property
    def n_probabilities(self) -> int:
        """Number of probabilities, one for each action of each infoset."""
        return self.game.n_sequences - self.game.n_players

    def __getitem__(self, label: str) -> dict[str, float]:
        infoset = located(self.game, label)
        return Lookup(zip(infoset.actions, self.at(infoset.numbers).tolist(), strict=True))

    def __iter__(self) -> Iterator[str]:
        return _labels(self.game)

    def __len__(self) -> int:
        return self.game.n_infosets

    def _repr_html_(self) -> str:
        game = self.game
        rows = []
        for player in range(game.n_players):
            for label, chosen in self.first_of(player, ROWS_SHOWN).items():
                cells = [f"{action} {probability:.3f}" for action, probability in chosen.items()]
                rows.append((f"{player}", label, "  ".join(cells)))
        left_out = len(self) - len(rows)
        return html.block(
            f"policy for {game.name}",
            html.table(("player", "infoset", "probabilities"), rows, text_columns=3),
            html.note(f"and {left_out:,} more infosets") if left_out else "",
        )

    def __repr__(self) -> str:
        return f"<Policy for {self.game.name}: {len(self):,} infosets>"


class PolicyByParts(Policy):
    """Policy whose parts, the trunk and each chunk, are computed on access.

    Derived classes set ``game``, call :meth:`forget`, and define :meth:`parts`, which returns new
    arrays.
    """

    def forget(self) -> None:
        """Drop the parts that are cached."""
        self._recent_parts = Recent()

    def at(self, numbers: slice | np.ndarray) -> np.ndarray:  # noqa: D102
        form = self.game.chunks
        where = np.arange(form.n_numbers)[numbers] if isinstance(numbers, slice) else numbers
        part = part_of(form, where)
        begin = int(form.number_offset[part - 1]) if part else 0
        probabilities: np.ndarray = self.part(part)[where - begin]
        return probabilities

    def part(self, part: int) -> np.ndarray:
        """Return the probabilities in one part; a small part is cached."""
        return self._recent_parts.get(part, super().part)

    @cached_property
    def probabilities(self) -> np.ndarray:  # type: ignore[override]
        """float64 (numbers,): probability of each action, of all parts."""
        array = self.parts(0, 1 + self.game.chunks.n_chunks)
        array.flags.writeable = False
        return array


class Filling:
    """Builder of the probabilities of a policy, or of some of its parts.

    Args:
        game: The game.
        begin: The first number.
        end: The number after the last one; by default all are filled.
        rounding: Largest difference between strategies of infosets that are merged in the game.
    """

    def __init__(
        self, game: CompiledGame, begin: int = 0, end: int | None = None, rounding: float = 0.0
    ) -> None:
        self.game, self._begin, self._rounding = game, begin, rounding
        self.probabilities = np.ones((game.n_numbers if end is None else end) - begin)
        self._filled = np.zeros(len(self.probabilities), bool) if game.merges_hands else None

    def put(self, rows: InfosetRows, table: np.ndarray) -> None:
        """Store the strategies of some infosets, float64 (infosets, actions).

        Raises:
            ValueError: Infosets that are merged in the game have different strategies.
        """
        self.put_at(rows.numbers, table, rows.labels.__getitem__)

    def put_at(self, numbers: np.ndarray, table: np.ndarray, label: Callable[[int], str]) -> None:
        """Store the strategies at some numbers of the game.

        Args:
            numbers: int64 (infosets, actions): the numbers.
            table: float64 (infosets, actions): the strategies.
            label: Function from the index of one of the infosets to its label.

        Raises:
            ValueError: Infosets that are merged in the game have different strategies.
        """
        probabilities, indices = self.probabilities, numbers - self._begin
        if self._filled is None:
            probabilities[indices] = table
            return
        # Rows of the same call may share numbers too, so compare before and after the write.
        before = self._filled[indices] & (np.abs(probabilities[indices] - table) > self._rounding)
        probabilities[indices] = table
        differs = (before | (np.abs(probabilities[indices] - table) > self._rounding)).any(axis=1)
        if differs.any():
            raise ValueError(
                f"infoset {label(int(differs.argmax()))!r} is merged with others in "
                f"{self.game.name}, and the policy plays them differently: compile the game "
                "with symmetry=False, or make it flat with game.flat()"
            )
        self._filled[indices] = True


def _row(label: str, actions: tuple[str, ...], strategy: Mapping[str, float]) -> np.ndarray:
    """Check the strategy of an infoset and return it."""
    STRATEGIES(f"the strategy at infoset {label!r}", strategy)
    refuse_unknown(label, strategy, actions)
    name = "the probability of {!r} at infoset {!r}"
    row = np.array([PROBABILITY(name.format(a, label), strategy.get(a, 0.0)) for a in actions])
    if not ((row >= 0).all() and abs(row.sum() - 1.0) <= SUM_TOLERANCE):
        raise ValueError(
            f"the probabilities of infoset {label!r} are not a distribution: {dict(strategy)}"
        )
    return row


def located(game: CompiledGame, label: str) -> Located:
    """Return the infoset of a label.

    Raises:
        UnknownNameError: There is no such infoset; suggests a near label.
    """
    if not isinstance(label, str):
        raise UnknownNameError(f"an infoset label must be a string, not {label!r}")
    try:
        return game.locate(label)
    except KeyError:
        raise UnknownNameError(
            f"{game.name} has no infoset {brief(label)}; {suggest_label(game, label)}"
        ) from None


def suggest_label(game: CompiledGame, label: object) -> str:
    """Return a suggestion for an unknown label: a similar label, or an example."""
    # In a large game a comparison with all labels would take long.
    if isinstance(label, str) and game.n_infosets <= MOST_COMPARED:
        return suggest(label, list(islice(_labels(game), None if label else 1)))
    return f"labels look like {next(_labels(game))!r}"


def _labels(game: CompiledGame) -> Iterator[str]:
    """Yield the labels of all players' infosets."""
    return chain.from_iterable(map(game.labels_of, range(game.n_players)))
