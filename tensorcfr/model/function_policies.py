"""Policies that are functions: of one infoset, of a batch of infosets (a network), or of all hands
at a decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from .._util.argument_checks import brief
from .._util.one_line import OneLine
from .chunked_form import bounds_of_parts, buckets_by_part
from .compiled_game import CompiledGame
from .infoset import (
    EXACT_TOLERANCE,
    SINGLE_TOLERANCE,
    Infoset,
    Strategies,
    call_policy,
    distribution,
    normalised,
    plain_array,
)
from .infoset_rows import InfosetRows
from .policy import Filling, Policy, PolicyByParts
from .public_nodes import NodeLayout, PublicNodes
from .sequence_table import all_rows


class Batch(NamedTuple):
    """Batch of infosets for which a policy is called once."""

    infosets: list[Infoset]
    """Infosets of the batch."""
    features: np.ndarray
    """float32 (infosets, features): result of :attr:`Batched.features`; no columns without it."""
    legal: np.ndarray
    """bool (infosets, columns): True for columns of the answer that are actions of the infoset."""


@dataclass(frozen=True, repr=False)
class Batched(OneLine):
    """Policy that is called with batches of infosets: ``evaluate(game, Batched(network))``.

    >>> from tensorcfr import compile_game, evaluate
    >>> def network(batch):
    ...     return batch.legal / batch.legal.sum(axis=1, keepdims=True)
    >>> round(evaluate(compile_game("kuhn"), Batched(network)).exploitability, 6)
    0.458333
    """

    call: Callable[[Batch], Any]
    """Function from a batch to probabilities, an array (infosets, columns) of NumPy, JAX or
    PyTorch.  Columns that are not actions of an infoset must be 0."""
    features: Callable[[list[Infoset]], Any] | None = None
    """Function from infosets to their features, an array (infosets, features)."""
    columns: Callable[[Infoset], Sequence[int]] | None = None
    """Function from an infoset to the columns of its actions, in order.  It is for networks with
    one column for each action of the whole game; by default the first columns are the actions."""
    size: int = 4096
    """Largest number of infosets in a batch."""


class Situation(NamedTuple):
    """Decision as all players see it, with the hands of the player who acts."""

    player: int
    """Player who acts."""
    actions: tuple[str, ...]
    """Labels of the actions, in order."""
    board: tuple[str, ...]
    """Labels of all public chance outcomes: in a card game, the cards on the board."""
    line: tuple[str, ...]
    """Labels of all actions so far."""
    hands: tuple[str, ...]
    """Labels of all hands of the player, always in the same order."""
    possible: np.ndarray
    """bool (hands,): True for hands that the player can have at this decision."""


@dataclass(frozen=True)
class ByLine:
    """Policy that is called once for all hands at a decision: a line on a board.

    >>> from tensorcfr import compile_game, evaluate
    >>> def first_action(situation):
    ...     probabilities = np.zeros((len(situation.hands), len(situation.actions)))
    ...     probabilities[:, 0] = 1
    ...     return probabilities
    >>> round(evaluate(compile_game("leduc"), ByLine(first_action)).exploitability, 6)
    1.0
    """

    call: Callable[[Situation], Any]
    """Function from a :class:`Situation` to probabilities, an array (hands, actions) of NumPy, JAX
    or PyTorch.  Rows of hands that are not possible are ignored."""
    symmetric: bool = False
    """True if the policy is known to treat boards and hands equally that differ only in suits.

    The policy is then called for one board of each class, and for a second one at one decision as a
    check.  Otherwise it is called for all boards, and rejected if it distinguishes boards that the
    game has merged."""


Ask = Callable[[PublicNodes, int, NodeLayout, np.ndarray], np.ndarray]
"""Function from public nodes, a decision among them, its layout, and hands, int64 (hands,), to
their strategies, float64 (hands, actions)."""


class LazyPolicy(PolicyByParts):
    """Policy that computes its strategies on demand, part by part.

    Strategies of infosets that the game has merged may differ by :data:`SINGLE_TOLERANCE`.

    Args:
        game: Game with public nodes.
        ask: Function that computes the strategies.
        symmetric: True if ``ask`` treats boards and hands equally that differ only in suits; see
            :attr:`ByLine.symmetric`.
    """

    def __init__(self, game: CompiledGame, ask: Ask, *, symmetric: bool = False) -> None:
        self.game, self._ask, self._symmetric = game, ask, symmetric
        self.forget()

    def parts(self, first: int, last: int) -> np.ndarray:
        """Compute the strategies of parts ``first`` to ``last`` (exclusive), in a new array.

        Raises:
            ValueError: An infoset has no distribution, or infosets that the game has merged have
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


def _label(nodes: PublicNodes, node: int, hands: np.ndarray, index: int) -> str:
    """Return the label of an infoset: hand number ``index`` of some hands at a node."""
    return nodes.labels(node, [int(hands[index])])[0]


def policy_of_function(game: CompiledGame, source: Strategies | Batched | ByLine) -> Policy:
    """Return the policy that a function defines: of one infoset, of a batch, or of a line.

    In a game in chunks the function is called when a chunk is read; otherwise it is called for all
    infosets at once.

    Raises:
        ValueError: An infoset has no distribution, the function fails, or the answer or the
            features have the wrong shape; names the infoset.  Or a function of lines is given for a
            game without a public tree.
    """
    if isinstance(source, ByLine):
        if game.nodes is None:
            raise ValueError(f"{game.name} has no public tree: give a function of one infoset")
        return LazyPolicy(game, partial(_ask_line, source), symmetric=source.symmetric)
    strategies: Callable[[Iterator[Infoset]], Iterator[np.ndarray]]
    if isinstance(source, Batched):
        if source.size < 1:
            raise ValueError(f"size must be a whole number >= 1, not {source.size!r}")
        strategies = partial(_of_batches, source, _width(game, source))
    else:
        strategies = lambda infosets: (distribution(i, call_policy(i, source)) for i in infosets)  # noqa: E731
    if not game.chunks.n_chunks:
        answers, filling = strategies(_infosets(all_rows(game))), Filling(game)
        for rows in all_rows(game):
            filling.put(rows, np.array(list(islice(answers, len(rows.labels)))))
        return Policy(game, filling.probabilities)

    def ask(nodes: PublicNodes, node: int, _: NodeLayout, hands: np.ndarray) -> np.ndarray:
        return np.array(list(strategies(_infosets([nodes.rows(node, hands)]))))

    return LazyPolicy(game, ask)


def _of_batches(source: Batched, width: int, infosets: Iterator[Infoset]) -> Iterator[np.ndarray]:
    """Call a function with batches of infosets; yield float64 (actions,) for each infoset."""
    for batch in iter(lambda: list(islice(infosets, source.size)), []):
        yield from _answers(source, batch, width)


def _ask_line(
    source: ByLine, nodes: PublicNodes, node: int, layout: NodeLayout, hands: np.ndarray
) -> np.ndarray:
    """Call a function of a line; return strategies of some hands, float64 (hands, actions)."""
    hand_labels = nodes.hands[layout.player]
    possible = np.zeros(len(nodes.hands[layout.player]), bool)
    possible[hands] = True
    board, line = nodes.seen(node)
    where = f"{nodes.name(node)!r}"
    try:
        returned = source.call(
            Situation(layout.player, layout.actions, board, line, hand_labels, possible)
        )
    except Exception as error:
        raise ValueError(f"the policy failed at {where}: {error}") from error
    answer, tolerance = plain_array(returned, f"the probabilities at {where}")
    if answer.shape != (len(hand_labels), len(layout.actions)):
        raise ValueError(
            f"the probabilities at {where} have the shape {answer.shape}, "
            f"not ({len(hand_labels)} hands, {len(layout.actions)} actions)"
        )
    table = answer[hands]
    sums = table @ np.ones(len(layout.actions))
    # The conditions are negated so that NaN fails them.  The slower check by rows runs only to name
    # the infoset.
    if not (table.min() >= 0.0 and np.abs(sums - 1.0).max() <= tolerance):
        row = int((~((table >= 0.0).all(axis=1) & (np.abs(sums - 1.0) <= tolerance))).argmax())
        label = nodes.labels(node, [int(hands[row])])[0]
        normalised(table[row], tolerance, Infoset(label, layout.player, layout.actions))
    return table if tolerance == EXACT_TOLERANCE else table / sums[:, None]


def _columns(source: Batched, infoset: Infoset) -> list[int]:
    """Return the columns of an infoset's actions."""
    if source.columns is None:
        return list(range(len(infoset.actions)))
    columns = list(source.columns(infoset))
    if (
        len(columns) != len(infoset.actions)
        or len(set(columns)) != len(columns)
        or min(columns) < 0
    ):
        raise ValueError(
            f"infoset {str(infoset)!r} has {len(infoset.actions)} actions, but its columns are "
            f"{brief(columns)}"
        )
    return columns


def _width(game: CompiledGame, source: Batched) -> int:
    """Return the number of columns that the actions of the whole game need.

    In a game in chunks all hands of a decision must have the same columns.
    """
    if not game.chunks.n_chunks:
        infosets = _infosets(all_rows(game))
    elif source.columns is None:
        actions = [buckets[1] for _, buckets in buckets_by_part(game.chunks)]
        return max(chain.from_iterable(actions), default=0)
    else:
        infosets = _infosets(_first_rows(game))
    return max((max(_columns(source, infoset)) + 1 for infoset in infosets), default=0)


def _first_rows(game: CompiledGame) -> Iterator[InfosetRows]:
    """Yield one infoset of every decision."""
    nodes = game.nodes
    assert nodes is not None
    for part in range(1 + game.chunks.n_chunks):
        for node in nodes.of_part(part, alike=False):
            hands = np.flatnonzero(nodes.possible(node, nodes.player(node)))[:1]
            yield nodes.rows(node, hands)


def _answers(source: Batched, infosets: list[Infoset], width: int) -> list[np.ndarray]:
    """Call a function with one batch and return float64 (actions,) for each infoset."""
    columns = [_columns(source, infoset) for infoset in infosets]
    for infoset, infoset_columns in zip(infosets, columns, strict=True):
        if max(infoset_columns) >= width:
            raise ValueError(
                f"infoset {str(infoset)!r} has the columns {infoset_columns}, but other hands "
                f"have fewer than {width + 1} there"
            )
    legal = np.zeros((len(infosets), width), dtype=bool)
    for row, infoset_columns in zip(legal, columns, strict=True):
        row[infoset_columns] = True
    batch = Batch(infosets, _features(source, infosets), legal)
    answer, tolerance = plain_array(source.call(batch), "the answer for a batch of infosets")
    if answer.ndim != 2 or len(answer) != len(infosets) or answer.shape[1] < width:
        raise ValueError(
            f"the answer for {len(infosets):,} infosets has the shape {answer.shape}, not "
            f"({len(infosets)}, {width}): the first of them is {str(infosets[0])!r}"
        )
    # Probability on columns beyond the game's actions and on illegal actions.
    illegal = np.abs(answer[:, width:]).sum(axis=1)
    illegal += np.abs(np.where(legal, 0.0, answer[:, :width])).sum(axis=1)
    # Negated, so that NaN is illegal too.
    for row in np.flatnonzero(~(illegal <= tolerance))[:1].tolist():
        raise ValueError(
            f"the answer for infoset {str(infosets[row])!r} gives {illegal[row]:g} to columns "
            f"with no action there; its columns are {columns[row]}"
        )
    pairs = zip(infosets, columns, answer, strict=True)
    return [
        normalised(row[infoset_columns], tolerance, infoset)
        for infoset, infoset_columns, row in pairs
    ]


def _features(source: Batched, infosets: list[Infoset]) -> np.ndarray:
    """Return the features of some infosets, float32 (infosets, features)."""
    if source.features is None:
        return np.empty((len(infosets), 0), np.float32)
    features = plain_array(source.features(infosets), "the features of a batch of infosets")[0]
    if features.ndim != 2 or len(features) != len(infosets):
        raise ValueError(
            f"the features of {len(infosets):,} infosets have the shape {features.shape}, not "
            f"({len(infosets)}, features): the first of them is {str(infosets[0])!r}"
        )
    return features.astype(np.float32)


def _infosets(rows: Iterable[InfosetRows]) -> Iterator[Infoset]:
    """Yield all infosets of some rows in order."""
    for group in rows:
        for label, actions in zip(group.labels, group.actions, strict=True):
            yield Infoset(label, group.player, actions)
