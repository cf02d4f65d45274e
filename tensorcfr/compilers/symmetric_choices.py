"""Classes of infosets and actions that the payoffs of a game of hidden moves cannot tell apart.

A player who hides a ship on an empty grid has symmetric choices: a rotation of the grid maps every
play to another one with the same payoffs.  Algorithms that begin with uniform strategies and pass
over the whole game play symmetric actions with equal probability for ever.  So they need only the
infosets after one of these actions.

Here two sequences, or two infosets, belong to one class if

* the sequences before them belong to one class,
* their payoffs against every choice of classes of the other players have equal sums,
* and equally many infosets, or actions, of every class follow.

By induction over the iterations, strategies, reaches and regrets are then equal within classes.
The coarsest classes are found by colour refinement, as for hands (:mod:`.colour_refinement`).
Colours are hashes, so invariant M7 compares the regrets of the merged game afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.arrays import SequenceForm
from .colour_refinement import float_bits, hash_one, hash_pair

Entries = tuple[np.ndarray, np.ndarray]
"""Last sequences of all players, int64 (players, entries), and payoffs, float64 (entries,)."""

SMALLEST = 1000
"""Number of sequences from which choices are merged.  An iteration of a smaller game takes only
microseconds, less than compiling kernels for copies is worth."""
LARGEST_SHARE = 0.75
"""Largest share of the payoffs that merging may leave.  Above it, the payoffs saved are not worth
the time."""
MOST_ROUNDS = 50
"""Largest number of rounds of colour refinement.  Symmetric choices are found in a few rounds.
Where payoffs form a long chain, each round splits few classes and takes as long as the first."""


class ChoiceClasses(NamedTuple):
    """Representatives of the classes of a game's infosets and sequences."""

    infoset: np.ndarray
    """int64 (infosets,): the first infoset of the class of each infoset."""
    sequence: np.ndarray
    """int64 (sequences,): sequence of that infoset that represents each sequence.  Sequences of one
    infoset have different representatives, each of the same class as the sequence itself."""
    first: np.ndarray
    """int64 (sequences,): the first sequence of the same infoset with the class of each."""


def find_classes(form: SequenceForm, entries: list[Entries]) -> ChoiceClasses | None:
    """Find the classes of a game, or return None if merging them saves little.

    Args:
        form: The sequence form.
        entries: Payoffs of each player.
    """
    if form.n_sequences < SMALLEST:
        return None
    colours = _refined_colours(form, entries)
    if colours is None:
        return None
    of_sequence, of_infoset = (_numbered(colour) for colour in colours)
    left = sum(_count_columns(of_sequence[last]) for last, _ in entries)
    if left > LARGEST_SHARE * sum(len(payoff) for _, payoff in entries):
        return None
    return _representatives(form, of_sequence, of_infoset)


def _refined_colours(
    form: SequenceForm, entries: list[Entries]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the coarsest stable colours, uint64 (sequences,) and (infosets,), or None if all
    sequences differ or more than :data:`MOST_ROUNDS` rounds are needed."""
    colour = np.repeat(np.arange(form.n_players), np.diff(form.player_sequences)).view(np.uint64)
    bits, before = [float_bits(payoff) for _, payoff in entries], form.n_players
    for _ in range(MOST_ROUNDS):
        payoffs = np.zeros(form.n_sequences, dtype=np.uint64)
        for player, (last, _) in enumerate(entries):
            term = bits[player]
            for opponent in range(form.n_players):
                if opponent != player:
                    term = hash_pair(term, colour[last[opponent]])
            np.add.at(payoffs, last[player], term)
        colour, of_infoset = _passed_down(form, *_passed_up(form, hash_pair(payoffs, colour)))
        classes = len(np.unique(colour))
        if classes == form.n_sequences:
            return None
        # Each round only splits colours, because it hashes the ones before.
        if classes == before:
            return colour, of_infoset
        before = classes
    return None


def _passed_up(form: SequenceForm, colour: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hash sequences with the multisets of infosets that follow them.

    Returns:
        uint64 (sequences,) and uint64 (infosets,): hash of each with everything below it.
    """
    following = np.zeros(form.n_sequences, dtype=np.uint64)
    of_infoset = np.empty(form.n_infosets, dtype=np.uint64)
    # The deepest buckets of a player come last.
    for infosets, sequences, actions, _ in reversed(form.buckets):
        hashes = hash_pair(colour[sequences], following[sequences]).reshape(actions, -1)
        of_infoset[infosets] = hash_one(hashes.sum(axis=0, dtype=np.uint64))
        np.add.at(following, form.infoset_parent[infosets], hash_one(of_infoset[infosets]))
    return hash_pair(colour, following), of_infoset


def _passed_down(
    form: SequenceForm, colour: np.ndarray, of_infoset: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Hash sequences and infosets with the sequences before them; the arguments are the results of
    :func:`_passed_up`."""
    for infosets, sequences, actions, _ in form.buckets:
        of_infoset[infosets] = hash_pair(
            of_infoset[infosets], colour[form.infoset_parent[infosets]]
        )
        colour[sequences] = hash_pair(colour[sequences], np.tile(of_infoset[infosets], actions))
    return colour, of_infoset


def _numbered(colour: np.ndarray) -> np.ndarray:
    """Return the first position with each colour, int64, for every position."""
    _, first, number = np.unique(colour, return_index=True, return_inverse=True)
    return np.asarray(first[number])


def _count_columns(last: np.ndarray) -> int:
    """Return the number of different columns of a table, int64 (players, columns)."""
    last = last[:, np.lexsort(last)]
    return int((last[:, 1:] != last[:, :-1]).any(axis=0).sum()) + bool(last.size)


def _representatives(
    form: SequenceForm, of_sequence: np.ndarray, of_infoset: np.ndarray
) -> ChoiceClasses:
    """Return the representatives of classes.

    Args:
        form: The sequence form.
        of_sequence: int64 (sequences,): first sequence of the class of each.
        of_infoset: int64 (infosets,): first infoset of the class of each.
    """
    infoset, action = form.owners
    sequence, first = np.arange(form.n_sequences), np.arange(form.n_sequences)
    # The actions of an infoset in the order of their classes: the k-th one maps to the k-th one.
    order = np.lexsort((action, of_sequence, infoset))[form.n_players :]
    begin = np.cumsum(form.infoset_actions) - form.infoset_actions
    owner = infoset[order]
    partner = np.arange(len(order)) + (begin[of_infoset] - begin)[owner]
    sequence[order] = order[partner]
    new = np.append(True, (owner[1:] != owner[:-1]) | np.diff(of_sequence[order]).astype(bool))
    first[order] = order[np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))][: len(order)]
    return ChoiceClasses(of_infoset, sequence, first)
