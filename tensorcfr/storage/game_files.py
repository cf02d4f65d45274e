"""Conversion of compiled games to plain arrays and back.

The file of a game holds only these arrays; files of solutions hold further arrays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Sized
from functools import singledispatch
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Limit, Where, checked
from ..compilers.invariants import check
from ..model.arrays import Copies, HistoryTree, PublicTree, SequenceForm, stored_name
from ..model.chunked_form import FORM_FIELDS
from ..model.chunked_game import ChunkedGame
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame, Merged
from ..model.game_arguments import Compiled, require_flat
from ..model.labels import InfosetActions, InfosetLabels, InfosetPlaces, PublicGame
from ..model.team_game import TeamGame, team_game
from ..payoff import KINDS
from ..uncompiled.uncompiled_game import UncompiledGame
from .archive import (
    START,
    Arrays,
    Source,
    Taken,
    pack_text,
    read_arrays,
    refuse_others,
    says_where,
    write_arrays,
)
from .fields import Fields, read_fields, text
from .recipes import pack_cut_game, pack_rules, unpack_recipe

GAME_HEADER: Fields = {**START, "name": text()}
"""Fields of the header of a game's file."""
TEAMS = "game/teams/text"
"""Key of the array that files of two-team games have in addition: each team's players, as JSON."""
VIEWS = ("form", "tree", "merged", "public", "labels")
"""Values that ``game/views`` may list."""


@checked()
def save_game(game: Compiled, path: Annotated[str | Path, Where()]) -> Path:
    """Write a compiled game to a file; an existing file is replaced only once the new one is
    complete.

    Args:
        game: The game.
        path: Path of the file; ``.npz`` is added if it has no suffix.

    Returns:
        The path of the file.

    Raises:
        OSError: The file cannot be written; names the path.
    """
    return write_arrays(path, {"kind": "game", "name": game.name}, pack_game(game))


@checked()
def load_game(
    path: Annotated[Source, Where(files=True)],
    *,
    game: Compiled | None = None,
    memory_limit: Limit = None,
) -> CompiledGame:
    """Read a file of :func:`save_game`, and check every invariant as after compiling.

    The file of a game in chunks stores how the game was compiled, and loading compiles it again.

    Args:
        path: The file, or a binary file that is open for reading.
        game: The game that the file must hold, which is returned.  It is needed for games in chunks
            that are not built in.
        memory_limit: Bytes that reading and checking may take; by default the free memory.

    Raises:
        FileNotFoundError: The file does not exist.  Other errors of the operating system pass
            unchanged.
        ValueError: The file is not a compiled game, is of another version, or is damaged; the
            message names the reason.
        FileSizeError: The file needs more memory than ``memory_limit``; also a ValueError.
        UnknownGameError: The file is of a game in chunks that is not built in, and ``game`` is not
            given; also a ValueError.
    """
    header, arrays = read_arrays(path, "game", memory_limit=memory_limit)
    with says_where(path):
        read_fields(header, GAME_HEADER)
        refuse_others(arrays, ("game/",))
        loaded = unpack_game(arrays, known=game, memory_limit=memory_limit)
        if game is None and loaded.name != header["name"]:
            raise ValueError(f"header.name is {header['name']!r}, but the game is {loaded.name!r}")
        return loaded


@singledispatch
def pack_game(game: Any) -> Arrays:
    """Convert a game to plain arrays, whose keys begin with ``game/``."""
    raise TypeError(f"{game!r} cannot be saved: it is not a game")


pack_game.register(ChunkedGame, pack_cut_game)
pack_game.register(UncompiledGame, pack_rules)


@pack_game.register
def _(game: TeamGame) -> Arrays:
    return {**pack_game(game.game), TEAMS: pack_text(json.dumps(game.teams))}


@pack_game.register
def _(game: FlatGame) -> Arrays:
    """Convert a flat game to plain arrays.

    The arrays of all views keep their names and contents, and ``game/views`` lists the views of the
    game.  Labels become one text with offsets, and each distinct tuple of actions is stored once.
    Labels that the public tree can recompute are not stored.
    """
    if game.histories is None and game.public is None:
        raise ValueError(
            f"{game.name} was made without histories, which its file would need: save "
            "lift(solution), the policy of the full game"
        )
    arrays = {f"game/{name}": array for name, array in game.arrays().items()}
    if game.unit != 1.0:
        arrays["game/unit"] = np.array([game.unit])
    views = [view for view in VIEWS if view in game.views]
    if "public" in views:
        arrays |= _pack_public(game.public_game)
    labels: dict[str, Sequence[str]] = {"name": [game.name], "outcomes": game.outcome_labels}
    if not game.joins_labels:
        views.append("labels")
        # Most infosets have one of a few tuples of actions: store each tuple once, and its index.
        kinds = {actions: kind for kind, actions in enumerate(dict.fromkeys(game.infoset_actions))}
        arrays["game/actions/kind"] = np.array(
            [kinds[actions] for actions in game.infoset_actions], dtype=np.int64
        )
        arrays["game/actions/offset"] = _offsets(kinds)
        labels["infosets"] = game.infoset_labels
        labels["actions"] = list(chain.from_iterable(kinds))
    for key, texts in (labels | {"views": views}).items():
        arrays |= pack_labels(f"game/{key}", texts)
    return arrays


def unpack_game(
    arrays: Mapping[str, np.ndarray],
    *,
    known: CompiledGame | None = None,
    memory_limit: int | None = None,
) -> CompiledGame:
    """Rebuild and check the game from the arrays of :func:`pack_game`, which become read-only.

    Args:
        arrays: The arrays of the game, possibly among others.
        known: The game that the arrays must hold, if the caller has it; it is returned, with the
            merged form of the file.
        memory_limit: Bytes that compiling a game in chunks may take.

    Raises:
        ValueError: An array is missing or unknown, or breaks an invariant; names the array.  Or the
            game differs from ``known``.
    """
    if TEAMS in arrays:
        return _unpack_teams(arrays, known, memory_limit)
    taken = Taken(arrays, "game/")
    if (recompiled := unpack_recipe(taken, known, memory_limit)) is not None:
        return recompiled
    views = _unpack_views(taken)
    form = _unpack_form(taken, "game/form")
    public = _unpack_public(taken) if "public" in views else None
    labels: Sequence[str]
    actions: Sequence[tuple[str, ...]]
    if "labels" in views:
        labels, actions = _unpack_infosets(taken)
    elif public is not None:
        places = InfosetPlaces(public, form)
        labels, actions = InfosetLabels(places), InfosetActions(places)
    else:
        raise ValueError("array 'game/views/text' lists neither labels nor a public tree")
    if not {"tree", "public"} & set(views):
        raise ValueError("array 'game/views/text' lists neither a history tree nor a public one")
    game = FlatGame(
        name=_unpack_name(taken),
        form=form,
        infoset_labels=labels,
        infoset_actions=actions,
        outcome_labels=_unpack_labels(taken, "game/outcomes"),
        histories=HistoryTree(*_fields(taken, "game/tree", HistoryTree))
        if "tree" in views
        else None,
        public=public,
        merged=(
            Merged(_unpack_form(taken, "game/merged"), taken.take("game/merged/sequence"))
            if "merged" in views
            else None
        ),
        strategy_class=taken.take("game/tied_to", np.uint32) if taken.has("game/tied_to") else None,
        unit=_unpack_unit(taken),
    )
    taken.refuse_rest()
    # Freeze before checking: a compiled check is specialised to writable or read-only arrays, so
    # this compiles each check once.
    game.freeze()
    check(game)
    if known is not None and known.digest != game.digest:
        raise ValueError(f"the file is of a different game than {known.name}: {game.name}")
    # Arrays of a solver in the file are over the merged form of the file.
    same = known.merged_like(game) if isinstance(known, FlatGame) else known
    return game if same is None else same


def _unpack_teams(
    arrays: Mapping[str, np.ndarray],
    known: CompiledGame | None,
    memory_limit: int | None,
) -> Any:
    """Rebuild a two-team game from the flat game and each team's players.

    Its beliefs are not stored but recomputed.
    """
    rest = dict(arrays)
    blob = rest.pop(TEAMS)
    flat = known.game if isinstance(known, TeamGame) else known
    game = unpack_game(rest, known=flat, memory_limit=memory_limit)
    try:
        rebuilt = team_game(
            require_flat(game, "a game of teams"),
            json.loads(blob.tobytes().decode()),
            memory_limit=memory_limit,
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"array {TEAMS!r} is damaged: {error}") from error
    if not isinstance(known, TeamGame):
        return rebuilt
    if known.teams != rebuilt.teams:
        raise ValueError(f"the file is of {rebuilt.name}, not of {known.name}")
    return known


def pack_labels(key: str, labels: Sequence[str]) -> Arrays:
    """Encode labels as one text in UTF-8, and the offset of each label, counted in characters."""
    return {
        f"{key}/text": pack_text("".join(labels)),
        f"{key}/text_offset": _offsets(labels),
    }


def _unpack_views(taken: Taken) -> tuple[str, ...]:
    """Read and check the names of the game's views."""
    views = _unpack_labels(taken, "game/views")
    for view in views:
        if view not in VIEWS or views.count(view) > 1:
            raise ValueError(f"array 'game/views/text' lists {view[:60]!r}, unknown or twice")
    if "form" not in views:
        raise ValueError("array 'game/views/text' lists no sequence form")
    return views


def _unpack_name(taken: Taken) -> str:
    """Read the name of the game."""
    names = _unpack_labels(taken, "game/name")
    if len(names) != 1:
        raise ValueError(f"array 'game/name/text' holds {len(names)} names, not one")
    return names[0]


def _unpack_unit(taken: Taken) -> float:
    """Read the unit of the game's payoffs; only files of games with extreme payoffs store one."""
    if not taken.has("game/unit"):
        return 1.0
    array = taken.take("game/unit", np.float64)
    unit = float(array[0]) if array.shape == (1,) else 0.0
    # frexp splits a power of two into 0.5 and an exponent.
    if not 0.0 < unit < np.inf or np.frexp(unit)[0] != 0.5:
        raise ValueError(f"array 'game/unit' is not a power of two: {array[:9].tolist()}")
    return unit


def _fields(taken: Taken, key: str, view: Any) -> list[np.ndarray]:
    """Take the arrays of a view, in the order of its fields."""
    return [taken.take(f"{key}/{stored_name(name)}") for name in view._fields]


def _unpack_form(taken: Taken, key: str) -> SequenceForm:
    kinds = {name: kind for name, kind in KINDS.items() if taken.has(f"{key}/{name}/")}
    return SequenceForm(
        **{name: taken.take(f"{key}/{name}") for name in FORM_FIELDS},
        operator=tuple(
            kind(*_fields(taken, f"{key}/{name}", kind)) for name, kind in kinds.items()
        ),
        copies=Copies(*_fields(taken, f"{key}/copies", Copies))
        if key == "game/merged" and taken.has(f"{key}/copies/")
        else None,
    )


def _pack_public(public: PublicGame) -> Arrays:
    """Convert the labels of a public tree to arrays."""
    nodes = public.node_labels or ()
    return {
        "game/hands/offset": _offsets(public.hands),
        **pack_labels("game/hands", list(chain.from_iterable(public.hands))),
        **pack_labels("game/edges", public.edges),
        # uint8 (public nodes,): 1 if the node has a label; empty if the game has no node labels.
        "game/nodes/given": np.array([label is not None for label in nodes], dtype=np.uint8),
        **pack_labels("game/nodes", [label for label in nodes if label is not None]),
    }


def _unpack_public(taken: Taken) -> PublicGame:
    hands = _unpack_labels(taken, "game/hands")
    labelled = taken.take("game/nodes/given", np.uint8)
    labels = _unpack_labels(taken, "game/nodes")
    if np.count_nonzero(labelled == 1) != len(labels) or labelled.max(initial=0) > 1:
        raise ValueError(f"array 'game/nodes/given' does not give {len(labels)} labels")
    following = iter(labels)
    nodes = tuple(next(following) if has_label else None for has_label in labelled.tolist())
    return PublicGame(
        tree=PublicTree(*_fields(taken, "game/public", PublicTree)),
        hands=tuple(hands[a:b] for a, b in _ranges(taken, "game/hands/offset", len(hands))),
        edges=_unpack_labels(taken, "game/edges"),
        node_labels=nodes if len(nodes) else None,
    )


def _unpack_infosets(taken: Taken) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Read the label and the actions of each infoset."""
    labels = _unpack_labels(taken, "game/actions")
    kinds = [tuple(labels[a:b]) for a, b in _ranges(taken, "game/actions/offset", len(labels))]
    kind = taken.take("game/actions/kind", np.int64)
    if len(kind) and not 0 <= kind.min() <= kind.max() < len(kinds):
        raise ValueError("array 'game/actions/kind' points beyond the tuples of actions")
    return _unpack_labels(taken, "game/infosets"), tuple(map(kinds.__getitem__, kind.tolist()))


def _offsets(pieces: Iterable[Sized]) -> np.ndarray:
    """Compute the start of each piece and the end of the last one, int64 (pieces + 1,)."""
    return np.cumsum([0, *map(len, pieces)], dtype=np.int64)


def _ranges(taken: Taken, key: str, end: int) -> pairwise[tuple[int, int]]:
    """Read the offsets of a key, and return start and end of each piece.

    Raises:
        ValueError: The offsets decrease, or do not run from 0 to ``end``.
    """
    offsets = taken.take(key, np.int64)
    falls = len(offsets) and (offsets[1:] < offsets[:-1]).any()
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != end or falls:
        raise ValueError(f"array {key!r} does not go from 0 to {end} without falling")
    return pairwise(offsets.tolist())


def _unpack_labels(taken: Taken, key: str) -> tuple[str, ...]:
    """Read the labels that :func:`pack_labels` encoded."""
    blob = taken.take(f"{key}/text", np.uint8)
    try:
        text = blob.tobytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise ValueError(f"array '{key}/text' is not UTF-8") from None
    return tuple(text[a:b] for a, b in _ranges(taken, f"{key}/text_offset", len(text)))
