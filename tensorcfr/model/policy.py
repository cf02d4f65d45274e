"""Behaviour strategies of all players, read by infoset label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from typing import Annotated, NamedTuple

import numpy as np

from .._util import html
from .._util.arguments import Kind, Number, brief, checked
from ..errors import suggest
from .arguments import STRATEGIES, Compiled, Played
from .game import CompiledGame
from .infoset_numbers import InfosetNumbers

PROBABILITY = Number(counts="a number")
ROWS_SHOWN = 12
"""Infosets per player that a notebook shows."""
MOST_COMPARED = 10_000
"""Infosets of a game, at most, with all of whose labels a wrong one is compared."""
SUM_TOLERANCE = 1e-9
"""How far the probabilities given for an infoset may be from summing to 1."""


class NodeStrategies(NamedTuple):
    """The strategies at infosets of one player with the same actions."""

    player: int
    labels: list[str]
    """The label of each infoset."""
    actions: tuple[str, ...]
    probabilities: np.ndarray
    """float64 (infosets, actions)."""


class Policy(Mapping[str, dict[str, float]]):
    """A behaviour strategy for every player: infoset label to action to probability.

    >>> policy["K"]["bet"]  # doctest: +SKIP
    0.72...

    Args:
        game: The game.
        probabilities: float64 (sequences,): probability of each infoset's action; 1 for the
            empty sequences.  Kept, not copied, and made read-only.

    Raises:
        ValueError: The array has another shape or dtype, or holds what is no probability.
    """

    @checked()
    def __init__(
        self,
        game: Played,
        probabilities: Annotated[np.ndarray, Kind((np.ndarray,), "a NumPy array")],
    ) -> None:
        if probabilities.shape != (game.n_sequences,) or probabilities.dtype != np.float64:
            raise ValueError(
                f"{game.name} has {game.n_sequences:,} sequences, but the probabilities are "
                f"{probabilities.dtype} {probabilities.shape}"
            )
        wrong = ~((probabilities >= 0.0) & (probabilities <= 1.0 + SUM_TOLERANCE))
        if wrong.any():
            raise ValueError(f"{float(probabilities[wrong][0])!r} in a policy is no probability")
        self.game = game
        self.probabilities = probabilities
        probabilities.flags.writeable = False

    by_node: Callable[[int], Iterator[NodeStrategies]] | None = None
    """From a player, their strategies public node by public node, where that takes less than
    ``probabilities``; None where it does not."""

    @classmethod
    @checked()
    def uniform(cls, game: Played) -> Policy:
        """Every action of an infoset equally likely."""
        probabilities = np.ones(game.n_sequences)
        form = game.form
        buckets = (form.bucket_sequence, form.bucket_actions, form.bucket_lanes)
        for first, actions, lanes in zip(*buckets, strict=True):
            probabilities[first : first + actions * lanes] = 1.0 / actions
        return cls(game, probabilities)

    @classmethod
    @checked()
    def from_mapping(
        cls, game: Compiled, given: Annotated[Mapping[str, Mapping[str, float]], STRATEGIES]
    ) -> Policy:
        """A policy from probabilities by label.

        Args:
            game: The game.
            given: For every infoset label, action label to probability; actions left out have
                probability 0.

        Raises:
            ValueError: An infoset is missing or unknown, an action is unknown, or the
                probabilities of an infoset are no distribution; names the infoset.
        """
        for label in given:
            if label not in game.infoset_index:
                raise ValueError(
                    f"{game.name} has no infoset {brief(label)}; {suggest_label(game, label)}"
                )
        probabilities = np.ones(game.n_sequences)
        for infoset, label in enumerate(game.infoset_labels):
            if label not in given:
                raise ValueError(f"the policy says nothing about infoset {label!r}")
            actions = game.infoset_actions[infoset]
            STRATEGIES(f"the strategy at infoset {label!r}", given[label])
            for action in given[label]:
                if action not in actions:
                    raise ValueError(
                        f"infoset {label!r} has no action {action!r}; "
                        f"{suggest(str(action), actions)}"
                    )
            row = np.array(
                [
                    PROBABILITY(
                        f"the probability of {action!r} at infoset {label!r}",
                        given[label].get(action, 0.0),
                    )
                    for action in actions
                ]
            )
            if not ((row >= 0).all() and abs(row.sum() - 1.0) <= SUM_TOLERANCE):
                raise ValueError(
                    f"the probabilities of infoset {label!r} are no distribution: "
                    f"{dict(given[label])}"
                )
            probabilities[game.sequences(infoset)] = row
        return cls(game, probabilities)

    def to_dict(self, player: int | None = None) -> dict[str, dict[str, float]]:
        """Infoset label to action to probability, of all players or of one.

        ``solve(game, locks=policy.to_dict(0))`` fixes player 0 to the policy.

        Raises:
            ValueError: There is no such player.
        """
        if player is None:
            return {
                label: row
                for one in range(self.game.n_players)
                for label, row in self.first_of(one).items()
            }
        if isinstance(player, bool) or player not in range(self.game.n_players):
            raise ValueError(
                f"{self.game.name} has players 0 to {self.game.n_players - 1}, not {player!r}"
            )
        return self.first_of(player)

    def first_of(self, player: int, most: int | None = None) -> dict[str, dict[str, float]]:
        """The strategies at the first infosets of a player, in the order of the game.

        Args:
            player: The player.
            most: How many infosets; None for all.
        """
        return {label: self[label] for label in islice(self.game.labels_of(player), most)}

    def count_of(self, player: int) -> int:
        """How many infosets a player has."""
        return self.game.count_of(player)

    def __getitem__(self, label: str) -> dict[str, float]:
        if not isinstance(label, str):
            raise KeyError(f"an infoset label is a string, not {label!r}")
        infoset = self.game.infoset_index.get(label)
        if infoset is None:
            raise KeyError(
                f"{self.game.name} has no infoset {label!r}; {suggest_label(self.game, label)}"
            )
        row = self.probabilities[self.game.sequences(infoset)].tolist()
        return dict(zip(self.game.infoset_actions[infoset], row, strict=True))

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


def suggest_label(game: CompiledGame, label: object) -> str:
    """A near label, or an example of what labels look like here."""
    if isinstance(label, str) and game.n_infosets <= MOST_COMPARED:
        return suggest(label, list(islice(_labels(game), None if label else 1)))
    return f"labels look like {next(_labels(game))!r}"


def _labels(game: InfosetNumbers) -> Iterator[str]:
    """The labels of all players' infosets."""
    return chain.from_iterable(map(game.labels_of, range(game.n_players)))
