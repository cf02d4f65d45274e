"""Policies that are functions: of one infoset, or of many at once, such as a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from .._util.arguments import brief
from .._util.one_line import OneLine
from ..model.game import CompiledGame
from ..model.infoset import Infoset, Strategies, asked, distribution, normalised, plain_array
from ..model.policy import Filling, Policy
from ..model.tables import all_rows


class Batch(NamedTuple):
    """Infosets that a policy is asked about together."""

    infosets: list[Infoset]
    """The infosets."""
    features: np.ndarray
    """float32 (infosets, features): what :attr:`Batched.features` makes of them; no columns without
    it."""
    legal: np.ndarray
    """bool (infosets, columns): which columns of the answer are actions there."""


@dataclass(frozen=True, repr=False)
class Batched(OneLine):
    """A policy that is asked about many infosets at once: ``evaluate(game, Batched(network))``.

    >>> from tensorcfr import compile_game, evaluate
    >>> def network(batch):
    ...     return batch.legal / batch.legal.sum(axis=1, keepdims=True)
    >>> round(evaluate(compile_game("kuhn"), Batched(network)).exploitability, 6)
    0.458333
    """

    call: Callable[[Batch], Any]
    """From a batch to a matrix (infosets, columns) of probabilities, of NumPy, JAX or PyTorch; the
    columns that are no action of an infoset must be 0 there."""
    features: Callable[[list[Infoset]], Any] | None = None
    """From infosets to their features, a matrix (infosets, features)."""
    columns: Callable[[Infoset], Sequence[int]] | None = None
    """The columns of an infoset's actions, in their order, for networks with one column for each
    action of the whole game; by default its actions are the first columns."""
    size: int = 4096
    """Infosets in a batch, at most."""


def policy_of_function(game: CompiledGame, strategies: Strategies) -> Policy:
    """The policy of a function of one infoset, which is called for every infoset of the game.

    Raises:
        ValueError: An infoset has no distribution, or the function fails there; names it.
    """
    return _filled(game, (distribution(one, asked(one, strategies)) for one in _infosets(game)))


def policy_of_batches(game: CompiledGame, source: Batched) -> Policy:
    """The policy of a function of many infosets.

    Raises:
        ValueError: The answer or the features have the wrong shape, or an infoset has no
            distribution; names the infoset.
    """
    if source.size < 1:
        raise ValueError(f"size must be a whole number >= 1, not {source.size!r}")
    places = source.columns or (lambda infoset: range(len(infoset.actions)))
    width = 0
    for infoset in _infosets(game):
        own = list(places(infoset))
        if len(own) != len(infoset.actions) or len(set(own)) != len(own) or min(own) < 0:
            raise ValueError(
                f"infoset {str(infoset)!r} has {len(infoset.actions)} actions, but its columns are "
                f"{brief(own)}"
            )
        width = max(width, max(own) + 1)
    asked_about = _infosets(game)
    strategies = (
        strategy
        for batch in iter(lambda: list(islice(asked_about, source.size)), [])
        for strategy in _answers(source, batch, places, width)
    )
    return _filled(game, strategies)


def _answers(
    source: Batched,
    infosets: list[Infoset],
    places: Callable[[Infoset], Sequence[int]],
    width: int,
) -> list[np.ndarray]:
    """What a function of many infosets says of some, float64 (actions,) each."""
    columns = [list(places(infoset)) for infoset in infosets]
    legal = np.zeros((len(infosets), width), dtype=bool)
    for row, own in zip(legal, columns, strict=True):
        row[own] = True
    batch = Batch(infosets, _features(source, infosets), legal)
    answer, tolerance = plain_array(source.call(batch), "the answer for a batch of infosets")
    if answer.ndim != 2 or len(answer) != len(infosets) or answer.shape[1] < width:
        raise ValueError(
            f"the answer for {len(infosets):,} infosets has the shape {answer.shape}, not "
            f"({len(infosets)}, {width}): the first of them is {str(infosets[0])!r}"
        )
    illegal = np.abs(answer[:, width:]).sum(axis=1)
    illegal += np.abs(np.where(legal, 0.0, answer[:, :width])).sum(axis=1)
    for row in np.flatnonzero(~(illegal <= tolerance))[:1].tolist():
        raise ValueError(
            f"the answer for infoset {str(infosets[row])!r} gives {illegal[row]:g} to columns "
            f"that are no action there; its columns are {columns[row]}"
        )
    pairs = zip(infosets, columns, answer, strict=True)
    return [normalised(row[own], tolerance, infoset) for infoset, own, row in pairs]


def _features(source: Batched, infosets: list[Infoset]) -> np.ndarray:
    """float32 (infosets, features)."""
    if source.features is None:
        return np.empty((len(infosets), 0), np.float32)
    found = plain_array(source.features(infosets), "the features of a batch of infosets")[0]
    if found.ndim != 2 or len(found) != len(infosets):
        raise ValueError(
            f"the features of {len(infosets):,} infosets have the shape {found.shape}, not "
            f"({len(infosets)}, features): the first of them is {str(infosets[0])!r}"
        )
    return found.astype(np.float32)


def _infosets(game: CompiledGame) -> Iterator[Infoset]:
    """All infosets of a game in order."""
    for rows in all_rows(game):
        for label, actions in zip(rows.labels, rows.actions, strict=True):
            yield Infoset(label, rows.player, actions)


def _filled(game: CompiledGame, strategies: Iterator[np.ndarray]) -> Policy:
    """The policy that has these strategies at all infosets in order."""
    filling = Filling(game)
    for rows in all_rows(game):
        filling.put(rows, np.array(list(islice(strategies, len(rows.labels)))))
    return Policy(game, filling.probabilities)
