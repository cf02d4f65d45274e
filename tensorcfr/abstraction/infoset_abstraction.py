"""Abstraction by a mapping from infoset labels to buckets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.argument_checks import Flag, Kind, brief, checked
from ..compilers.flat_compiler import compile_histories
from ..compilers.history_reader import HistoryGame, Infosets
from ..compilers.invariants import check
from ..errors import ImperfectRecallError
from ..model.flat_game import FlatGame
from ..model.game_arguments import Compiled
from ..model.layout import Layout
from ..model.policy import suggest_label
from .abstract_game import AbstractGame
from .merged_form import abstract_form

MAPPING = Kind((Mapping, Callable), "a function or a mapping of infoset labels to buckets")
MAX_HISTORIES = 1_000_000
"""Number of histories up to which an abstraction keeps them if the full game has a public tree."""
SHOWN = 3
"""Largest number of infosets that an error names."""


@checked()
def abstract(
    game: Compiled,
    *,
    infosets: Annotated[Mapping[str, Hashable] | Callable[[str], Hashable], MAPPING],
    imperfect_recall: Annotated[bool, Flag()] = False,
) -> AbstractGame:
    """Make an abstraction in which the infosets of a bucket share one strategy.

    The regrets and counterfactual values of the infosets of a bucket are added.

    >>> from tensorcfr import compile_game
    >>> game = compile_game("leduc")
    >>> ranks = abstract(game, infosets=lambda label: label.replace("h", "s"))
    >>> game.n_infosets, ranks.n_infosets
    (936, 288)

    Args:
        game: The full game; a game in chunks is made flat first.
        infosets: Mapping or function from the label of every infoset to the name of its bucket. All
            infosets of a bucket have the same player and the same actions.
        imperfect_recall: Whether players may forget. A player forgets if a bucket holds infosets
            that the player reaches by different own buckets or actions. CFR then has no guarantee,
            and the linear program and sampling do not apply. The infosets of the abstraction are
            then the buckets, divided by the player's earlier buckets and actions;
            :attr:`FlatGame.strategy_class` lists the infosets that share a strategy.

    Raises:
        ValueError: The mapping lacks an infoset or has an unknown one, or a bucket holds infosets
            of different players or actions; names them.
        ImperfectRecallError: A player would forget, and ``imperfect_recall`` is False. Or a bucket
            holds an infoset and one after it; names the bucket and two infosets. Or the game itself
            has imperfect recall.
        MemoryLimitError: There is not enough memory for the histories of the full game, or, if it
            has a public tree, for the payoffs of the abstraction.
    """
    flat = game.flat()
    buckets = _buckets_of(flat, infosets)
    return replace(from_buckets(flat, buckets, imperfect_recall=imperfect_recall), original=game)


def from_buckets(game: FlatGame, buckets: Sequence[str], *, imperfect_recall: bool) -> AbstractGame:
    """Make an abstraction as :func:`abstract` does, from the bucket name of every infoset, in
    order."""
    if game.layout == Layout.TIED:
        raise ImperfectRecallError(
            f"{game.name} has imperfect recall: make an abstraction of the full game"
        )
    _check_buckets(game, buckets)
    refined = _refine(game, buckets)
    has_imperfect_recall = len(refined.labels) > len(set(buckets))
    if has_imperfect_recall and not imperfect_recall:
        raise _recall_error(game, buckets, refined)
    compiled = _compile_refined(game, refined, symmetry=not has_imperfect_recall)
    number_of_label = {label: number for number, label in enumerate(compiled.infoset_labels)}
    numbers = np.array([number_of_label[label] for label in refined.labels], dtype=np.int64)
    tied_to = None
    if has_imperfect_recall:
        bucket = {int(numbers[nth]): name for nth, name in enumerate(refined.buckets)}
        # An infoset is tied to the first infoset of its bucket, and the first to itself.
        first: dict[str, int] = {}
        shared = [first.setdefault(bucket[infoset], infoset) for infoset in range(len(numbers))]
        tied_to = np.array(shared, dtype=np.uint32)
    abstraction = abstract_game(compiled, game, numbers[refined.number], tied_to)
    check(abstraction)
    return abstraction


def _compile_refined(game: FlatGame, refined: _Refined, *, symmetry: bool) -> FlatGame:
    """Compile the game with other infosets."""
    if len(refined.labels) == game.n_infosets:
        # Nothing is merged: the game itself, with the names of the buckets.
        renamed = replace(game, name=name_of(game), infoset_labels=tuple(refined.labels))
        return renamed if symmetry else renamed.without_merging()
    if game.public is not None and game.n_histories > MAX_HISTORIES:
        return _compile_without_histories(game, refined)
    tree = game.tree
    infoset = tree.infoset.copy()
    infoset[infoset >= 0] = refined.number[infoset[infoset >= 0]]
    history_game = HistoryGame(
        tree._replace(infoset=infoset),
        Infosets(refined.labels, refined.players, refined.actions),
        list(game.outcome_labels),
        game.n_players,
        game.unit,
    )
    return compile_histories(history_game, name_of(game), symmetry=symmetry)


def _compile_without_histories(game: FlatGame, refined: _Refined) -> FlatGame:
    """Compile the game with other infosets, without histories."""
    form, order = abstract_form(
        game,
        refined.number,
        np.array(refined.players),
        np.array([len(actions) for actions in refined.actions]),
        np.array(refined.before),
    )
    return FlatGame(
        name=name_of(game),
        form=form,
        infoset_labels=tuple(refined.labels[infoset] for infoset in order.tolist()),
        infoset_actions=tuple(refined.actions[infoset] for infoset in order.tolist()),
        outcome_labels=game.outcome_labels,
        unit=game.unit,
    )


def name_of(game: FlatGame) -> str:
    """Return the name of an abstraction of a game."""
    return f"abstraction of {game.name}"


def abstract_game(
    compiled: FlatGame,
    full: FlatGame,
    infoset: np.ndarray,
    tied_to: np.ndarray | None = None,
) -> AbstractGame:
    """Return a compiled game as a read-only abstraction of another; the arguments are its
    fields."""
    fields = {name: getattr(compiled, name) for name in FlatGame.__dataclass_fields__}
    abstraction = AbstractGame(
        **{**fields, "strategy_class": tied_to}, full=full, original=full, infoset=infoset
    )
    abstraction.freeze()
    return abstraction


def _buckets_of(
    game: FlatGame, infosets: Mapping[str, Hashable] | Callable[[str], Hashable]
) -> list[str]:
    """Return the name of the bucket of every infoset."""
    if not isinstance(infosets, Mapping):
        return [bucket_of("infosets", infosets, label) for label in game.infoset_labels]
    known = {game.infoset_index.get(label, -1): bucket for label, bucket in infosets.items()}
    if -1 in known:
        label = next(label for label in infosets if label not in game.infoset_index)
        raise ValueError(
            f"infosets: {game.name} has no infoset {brief(label)}; {suggest_label(game, label)}"
        )
    missing = [i for i in range(game.n_infosets) if i not in known]
    if missing:
        raise ValueError(
            f"infosets has no bucket for {_name_infosets(game, missing)} of {game.name}: "
            "every infoset needs one"
        )
    return [str(known[infoset]) for infoset in range(game.n_infosets)]


def bucket_of(name: str, function: Callable[..., Hashable], *labels: str) -> str:
    """Return the bucket that a caller's function gives for some labels.

    Raises:
        ValueError: The function fails; names the argument.
    """
    try:
        return str(function(*labels))
    except Exception as error:
        raise ValueError(
            f"{name} fails for {', '.join(map(repr, labels))}: {type(error).__name__}: {error}"
        ) from error


def _name_infosets(game: FlatGame, infosets: Iterable[int]) -> str:
    """Format some infosets for an error: ``infosets 'J', 'Q'`` and the number of the others."""
    listed = list(infosets)
    labels = ", ".join(repr(game.infoset_labels[infoset]) for infoset in listed[:SHOWN])
    more = f" and {len(listed) - SHOWN:,} more" if len(listed) > SHOWN else ""
    return f"infoset{'s' * (len(listed) > 1)} {labels}{more}"


def _check_buckets(game: FlatGame, buckets: Sequence[str]) -> None:
    """Check that all infosets of a bucket have the same player and the same actions."""
    player, actions = game.infoset_player, game.infoset_actions
    first: dict[str, int] = {}
    for infoset, bucket in enumerate(buckets):
        first_infoset = first.setdefault(bucket, infoset)
        if player[first_infoset] != player[infoset]:
            raise ValueError(
                f"bucket {bucket!r} holds {_name_infosets(game, (first_infoset, infoset))} "
                f"of different players: {player[first_infoset]} and {player[infoset]}"
            )
        if actions[first_infoset] != actions[infoset]:
            raise ValueError(
                f"bucket {bucket!r} holds {_name_infosets(game, (first_infoset, infoset))} "
                f"with different actions: {', '.join(actions[first_infoset])}; "
                f"{', '.join(actions[infoset])}"
            )


class _Refined(NamedTuple):
    """Infosets of an abstraction: buckets, divided by the player's earlier buckets and actions."""

    number: np.ndarray
    """int64 (infosets of the full game,): infoset of the abstraction that contains each."""
    labels: list[str]
    players: list[int]
    actions: list[tuple[Any, ...]]
    buckets: list[str]
    before: list[tuple[int, int]]
    """Previous infoset of the player and the action taken there; -1 and -1 at the first
    decision."""
    example: list[int]
    """First infoset of the full game in each."""


def _refine(game: FlatGame, buckets: Sequence[str]) -> _Refined:
    """Find the coarsest infosets with perfect recall that separate the buckets."""
    form = game.form
    infosets, action_of_sequence = form.owners
    # The player's previous infoset and the action taken there; -1 and -1 at the first decision.
    parents = list(
        zip(
            *(array[form.infoset_parent].tolist() for array in (infosets, action_of_sequence)),
            strict=True,
        )
    )
    player, actions = game.infoset_player.tolist(), game.infoset_actions
    refined: dict[tuple[str, int, int], int] = {}
    buckets_on_path: list[frozenset[str]] = []
    number = np.empty(form.n_infosets, dtype=np.int64)
    example: list[int] = []
    # Infosets are numbered from the first level of each player down, so the number of the
    # previous infoset is known.
    for infoset, (bucket, (parent, action)) in enumerate(zip(buckets, parents, strict=True)):
        before = int(number[parent]) if parent >= 0 else -1
        key = bucket, before, action
        if key not in refined:
            earlier_buckets = buckets_on_path[before] if before >= 0 else frozenset()
            if bucket in earlier_buckets:
                # Go back to the infoset of the same bucket, to name both in the error.
                while before >= 0 and buckets[example[before]] != bucket:
                    parent = parents[example[before]][0]
                    before = int(number[parent])
                raise ImperfectRecallError(
                    f"bucket {bucket!r} holds {_name_infosets(game, (example[before], infoset))}, "
                    "and the second comes after the first: a player who cannot tell them apart is "
                    "absent-minded"
                )
            refined[key] = len(buckets_on_path)
            buckets_on_path.append(earlier_buckets | {bucket})
            example.append(infoset)
        number[infoset] = refined[key]
    times = Counter(bucket for bucket, _, _ in refined)
    labels: list[str] = []
    for bucket, before, action in refined:
        if times[bucket] == 1:
            labels.append(bucket)
        elif before < 0:
            labels.append(f"{bucket} at first")
        else:
            done_there = actions[example[before]][action]
            labels.append(f"{bucket} after {done_there} at {labels[before]}")
    return _Refined(
        number=number,
        labels=labels,
        players=[player[infoset] for infoset in example],
        actions=[tuple(actions[infoset]) for infoset in example],
        buckets=[bucket for bucket, _, _ in refined],
        before=[(before, action) for _, before, action in refined],
        example=example,
    )


def _recall_error(
    game: FlatGame, buckets: Sequence[str], refined: _Refined
) -> ImperfectRecallError:
    """Return the error for a bucket whose infosets are reached in different ways."""
    first: dict[str, int] = {}
    for nth, bucket in enumerate(refined.buckets):
        first_nth = first.setdefault(bucket, nth)
        if first_nth != nth:
            break
    descriptions = []
    for position in (first_nth, nth):
        before, action = refined.before[position]
        if before < 0:
            descriptions.append("without having acted")
        else:
            example = refined.example[before]
            descriptions.append(
                f"by {game.infoset_actions[example][action]!r} in bucket {buckets[example]!r}"
            )
    return ImperfectRecallError(
        f"in bucket {bucket!r} player {refined.players[nth]} forgets: the player reaches "
        f"{_name_infosets(game, (refined.example[first_nth],))} {descriptions[0]}, but "
        f"{_name_infosets(game, (refined.example[nth],))} {descriptions[1]}; "
        "imperfect_recall=True allows it"
    )
