"""Policies that are functions: of one infoset, of many at once, such as a network, or of all hands
at a decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from .._util.arguments import brief
from .._util.one_line import OneLine
from ..model.chunks import bounds_of_parts, buckets_by_part
from ..model.game import CompiledGame, InfosetRows
from ..model.infoset import (
    EXACT_TOLERANCE,
    SINGLE_TOLERANCE,
    Infoset,
    Strategies,
    asked,
    distribution,
    normalised,
    plain_array,
)
from ..model.policy import Filling, Policy, PolicyByParts
from ..model.public_nodes import NodeLayout, PublicNodes
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


class Situation(NamedTuple):
    """A decision as all players see it, and the hands of the player who acts."""

    player: int
    """Who acts."""
    actions: tuple[str, ...]
    """The labels of the actions, in order."""
    board: tuple[str, ...]
    """The labels of all that chance has shown: in a game of cards, the cards on the board."""
    line: tuple[str, ...]
    """The labels of all that was done so far."""
    hands: tuple[str, ...]
    """The labels of all hands of the player, always in one order."""
    possible: np.ndarray
    """bool (hands,): whether the player can have each of them here."""


@dataclass(frozen=True)
class ByLine:
    """A policy that is asked about all hands of a line on a board at once.

    >>> from tensorcfr import compile_game, evaluate
    >>> def first_action(situation):
    ...     found = np.zeros((len(situation.hands), len(situation.actions)))
    ...     found[:, 0] = 1
    ...     return found
    >>> round(evaluate(compile_game("leduc"), ByLine(first_action)).exploitability, 6)
    1.0
    """

    call: Callable[[Situation], Any]
    """From a :class:`Situation` to a matrix (hands, actions) of probabilities, of NumPy, JAX or
    PyTorch; rows of hands that are not possible are not looked at."""
    symmetric: bool = False
    """Whether it is known to play boards and hands alike that differ in suits alone.  Then it is
    asked about one board of each kind, and of another one at one decision, as a check.  Otherwise
    it is asked about all boards, and refused where it tells those apart that the game has
    merged."""


Ask = Callable[[PublicNodes, int, NodeLayout, np.ndarray], np.ndarray]
"""From public nodes, a decision among them, its layout, and hands, int64 (hands,), to their
strategies, float64 (hands, actions)."""


class AskedPolicy(PolicyByParts):
    """A policy that is asked for its strategies where they are looked at, part by part.

    Strategies of infosets that are one in the game may differ by :data:`SINGLE_TOLERANCE`.

    Args:
        game: A game with public nodes.
        ask: What makes the strategies.
        symmetric: As :attr:`ByLine.symmetric`.
    """

    def __init__(self, game: CompiledGame, ask: Ask, *, symmetric: bool = False) -> None:
        self.game, self._ask, self._symmetric = game, ask, symmetric
        self.forget()

    def parts(self, first: int, last: int) -> np.ndarray:
        """The strategies in some parts, in a new array.

        Raises:
            ValueError: An infoset has no distribution, or infosets that are one in the game have
                different strategies; names the infoset.
        """
        nodes, game = self.game.nodes, self.game
        assert nodes is not None
        begin, end = bounds_of_parts(game.chunks)[[first, last]].tolist()
        filling = Filling(game, begin, end, SINGLE_TOLERANCE)
        for part in range(first, last):
            for node in nodes.of_part(part, alike=not self._symmetric):
                layout = nodes.layout(node)
                hands = np.flatnonzero(nodes.possible(node, layout.player))
                if layout.stride and len(hands):
                    table = self._ask(nodes, node, layout, hands)
                    label = partial(_label, nodes, node, hands)
                    filling.put_at(layout.numbers(hands), table, label)
        return filling.probabilities


def _label(nodes: PublicNodes, node: int, hands: np.ndarray, at: int) -> str:
    """The label of an infoset."""
    return nodes.labels(node, [int(hands[at])])[0]


def policy_of_function(game: CompiledGame, source: Strategies | Batched | ByLine) -> Policy:
    """The policy of a function: of one infoset, of many, or of a line on a board.  Of a game in
    chunks it is asked about a chunk where that is looked at, otherwise about all infosets now.

    Raises:
        ValueError: An infoset has no distribution, the function fails there, or the answer or the
            features have the wrong shape; names the infoset.  Or a function of lines is given for a
            game without a public tree.
    """
    if isinstance(source, ByLine):
        if game.nodes is None:
            raise ValueError(f"{game.name} has no public tree: give a function of one infoset")
        return AskedPolicy(game, partial(_ask_line, source), symmetric=source.symmetric)
    strategies: Callable[[Iterator[Infoset]], Iterator[np.ndarray]]
    if isinstance(source, Batched):
        if source.size < 1:
            raise ValueError(f"size must be a whole number >= 1, not {source.size!r}")
        strategies = partial(_of_batches, source, _width(game, source))
    else:
        strategies = lambda some: (distribution(one, asked(one, source)) for one in some)  # noqa: E731
    if not game.chunks.n_chunks:
        answers, filling = strategies(_infosets(all_rows(game))), Filling(game)
        for rows in all_rows(game):
            filling.put(rows, np.array(list(islice(answers, len(rows.labels)))))
        return Policy(game, filling.probabilities)

    def ask(nodes: PublicNodes, node: int, _: NodeLayout, hands: np.ndarray) -> np.ndarray:
        return np.array(list(strategies(_infosets([nodes.rows(node, hands)]))))

    return AskedPolicy(game, ask)


def _of_batches(source: Batched, width: int, infosets: Iterator[Infoset]) -> Iterator[np.ndarray]:
    """What a function of many infosets says of some, float64 (actions,) each."""
    for batch in iter(lambda: list(islice(infosets, source.size)), []):
        yield from _answers(source, batch, width)


def _ask_line(
    source: ByLine, nodes: PublicNodes, node: int, layout: NodeLayout, hands: np.ndarray
) -> np.ndarray:
    """What a function of a line says of some hands."""
    own, possible = nodes.hands[layout.player], np.zeros(len(nodes.hands[layout.player]), bool)
    possible[hands] = True
    board, line = nodes.seen(node)
    where = f"{nodes.name(node)!r}"
    try:
        given = source.call(Situation(layout.player, layout.actions, board, line, own, possible))
    except Exception as error:
        raise ValueError(f"the policy failed at {where}: {error}") from error
    answer, tolerance = plain_array(given, f"the probabilities at {where}")
    if answer.shape != (len(own), len(layout.actions)):
        raise ValueError(
            f"the probabilities at {where} have the shape {answer.shape}, not ({len(own)} hands, "
            f"{len(layout.actions)} actions)"
        )
    table = answer[hands]
    sums = table @ np.ones(len(layout.actions))
    # Written so that NaN fails; by rows, which takes longer, where something is wrong.
    if not (table.min() >= 0.0 and np.abs(sums - 1.0).max() <= tolerance):
        at = int((~((table >= 0.0).all(axis=1) & (np.abs(sums - 1.0) <= tolerance))).argmax())
        label = nodes.labels(node, [int(hands[at])])[0]
        normalised(table[at], tolerance, Infoset(label, layout.player, layout.actions))
    return table if tolerance == EXACT_TOLERANCE else table / sums[:, None]


def _columns(source: Batched, infoset: Infoset) -> list[int]:
    """The columns of an infoset's actions."""
    if source.columns is None:
        return list(range(len(infoset.actions)))
    own = list(source.columns(infoset))
    if len(own) != len(infoset.actions) or len(set(own)) != len(own) or min(own) < 0:
        raise ValueError(
            f"infoset {str(infoset)!r} has {len(infoset.actions)} actions, but its columns are "
            f"{brief(own)}"
        )
    return own


def _width(game: CompiledGame, source: Batched) -> int:
    """Columns of the actions of the whole game.  In a game in chunks the hands of a decision have
    the same ones."""
    if not game.chunks.n_chunks:
        infosets = _infosets(all_rows(game))
    elif source.columns is None:
        actions = [buckets[1] for _, buckets in buckets_by_part(game.chunks)]
        return max(chain.from_iterable(actions), default=0)
    else:
        infosets = _infosets(_first_rows(game))
    return max((max(_columns(source, infoset)) + 1 for infoset in infosets), default=0)


def _first_rows(game: CompiledGame) -> Iterator[InfosetRows]:
    """One infoset of every decision."""
    nodes = game.nodes
    assert nodes is not None
    for part in range(1 + game.chunks.n_chunks):
        for node in nodes.of_part(part, alike=False):
            hands = np.flatnonzero(nodes.possible(node, nodes.player(node)))[:1]
            yield nodes.rows(node, hands)


def _answers(source: Batched, infosets: list[Infoset], width: int) -> list[np.ndarray]:
    """What a function of many infosets says of some, float64 (actions,) each."""
    columns = [_columns(source, infoset) for infoset in infosets]
    for infoset, own in zip(infosets, columns, strict=True):
        if max(own) >= width:
            raise ValueError(
                f"infoset {str(infoset)!r} has the columns {own}, and other hands have fewer than "
                f"{width + 1} there"
            )
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


def _infosets(rows: Iterable[InfosetRows]) -> Iterator[Infoset]:
    """All infosets of some rows in order."""
    for some in rows:
        for label, actions in zip(some.labels, some.actions, strict=True):
            yield Infoset(label, some.player, actions)
