"""Pipeline of a compile, from rules to a checked game that is flat or in chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from .._util.argument_checks import (
    EXACT,
    AnyOf,
    Flag,
    Kind,
    Limit,
    OneOf,
    Several,
    Text,
    Whole,
    checked,
)
from .._util.memory_budget import budget, no_garbage_collection
from ..errors import MemoryLimitError
from ..formats.game_sources import name_of, resolve_changed, resolve_rules
from ..model.chunked_game import ChunkedGame
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.teams import TEAMS, Teams, check_teams, name_teams
from ..rules import CardGame, PublicTreeGame, Rules
from . import flat_compiler, history_reader, public_graph
from .cards import card_compiler
from .cards.flat_cards import HandByHand
from .compilation import AUTO, Compilation, CompileProgress, CutLike
from .cut import cut_compiler
from .derived_rules import share_payoffs
from .sizes.counted import check_memory
from .sizes.sizing import Watch

HOOK = Kind((Callable,), "a function")

LONGEST_LABEL = 10_000
"""Largest length of a public label in ``cut``, in characters."""
CUT = AnyOf(
    (
        OneOf((AUTO,)),
        Flag(),
        Whole(0, EXACT),
        Several(Whole(0, EXACT), ordered=True),
        Several(Text(LONGEST_LABEL), alone=True),
    ),
    "auto, True, False, public steps from 0, or public labels",
)


@checked()
def compile_game(
    source: str | Path | Rules | Any,
    *,
    symmetry: Annotated[bool, Flag()] = True,
    memory_limit: Limit = None,
    cut: Annotated[CutLike | None, CUT] = AUTO,
    teams: Annotated[Teams | None, TEAMS] = None,
    progress: Annotated[Callable[[CompileProgress], object] | None, HOOK] = None,
    **parameters: Any,
) -> CompiledGame:
    """Compile a game into flat arrays.

    Args:
        source: One of

            * the name of a built-in game, with its parameters as keywords or in the name:
              ``compile_game("leduc", ranks=4)``, ``compile_game("leduc(ranks=4)")``;
            * a game of your own, a :class:`Game` or a :class:`PublicTreeGame`;
            * a Gambit file, ``compile_game("game.efg")`` or ``"game.nfg"``, or a ``pygambit.Game``;
            * a game of LiteEFG, ``"kuhn.game"`` or ``"kuhn_poker.openspiel"``, or of noregret,
              ``"kuhn.json"``, or an object of these packages;
            * a file with a hold'em spot, ``"spot.toml"`` or ``"spot.txt"`` (see
              :mod:`tensorcfr.formats.spot_files`);
            * an OpenSpiel game, ``compile_game(pyspiel.load_game("leduc_poker"))`` or
              ``compile_game("openspiel:leduc_poker")`` (the extra ``tensorcfr[openspiel]``);
              two-player limit games of ``universal_poker`` become ``limit_poker``.
        symmetry: Whether to merge infosets with indistinguishable payoffs for solving, for example
            hands that differ only in suits, and to solve games of hidden moves over a form with
            fewer payoffs.  Solutions always cover the whole game.
        memory_limit: Memory limit in bytes; by default the free memory of the machine.
        cut: Where to cut the public tree of a game with private hands into chunks.  It is a game of
            two players, or a card game of three.  A large game in chunks needs less memory and is
            solved faster.  One of

            * ``"auto"``: cut a :class:`PublicTreeGame` with at least 131,072 sequences, and every
              card game;
            * True: derive the cut from the cache sizes of this machine;
            * a number: cut after this many public steps (actions or public chance outcomes).
              Several numbers cut again below each cut.  In a card game, the number is the deal
              after which chunks begin, and each later deal begins further chunks below these.  A
              number beyond the last deal makes no chunks, which is faster with few hands;
            * public labels: cut at the public nodes with these labels;
            * False: compile a flat game, which some algorithms and analyses need.
        teams: Players that share their payoffs: with ``((0, 2), (1, 3))``, players 0 and 2 form one
            team, players 1 and 3 the other.  Each player gets the mean payoff of the team.  The
            information of the players stays the same.  See
            :func:`tensorcfr.evaluation.team_exploitability`.
        progress: Function that is called with a :class:`CompileProgress` about ten times a second
            while the rules of a large game are read, which is the slow part.  An exception that it
            raises stops the compile.
        parameters: Parameters of a built-in game.

    Returns:
        The compiled game.  Its history tree is ``game.tree``, with the root as node 0, nodes
        numbered breadth first, and these arrays among others:

        * ``game.tree.parent``: int64 (nodes,), the node one edge above; -1 for the root;
        * ``game.tree.first_child``: int64 (nodes + 1,); the children of node ``h`` are
          ``first_child[h]`` to ``first_child[h + 1] - 1``, in the order of the actions;
        * ``game.tree.player``: int8 (nodes,), the acting player; -1 at chance nodes, -2 at
          terminals;
        * ``game.tree.infoset``: int64 (nodes,), the infoset; -1 at chance nodes, -2 at terminals;
        * ``game.tree.probability``: float64 (nodes,), the chance probability of the edge into the
          node; 1 after an action;
        * ``game.tree.terminal``: int64 (terminals,), the terminal nodes in ascending order;
        * ``game.tree.utility``: float64 (terminals, players), payoffs in units of ``game.unit``.

        A game of private hands expands ``game.tree`` at the first access.  Solvers use the sequence
        form ``game.form``, or ``game.merged.form`` if symmetric infosets are merged: a backward
        pass computes counterfactual values and regrets, a forward pass computes reaches and the
        average strategy (:mod:`tensorcfr.kernels`).
        :mod:`tensorcfr.model.arrays` declares all arrays.  A game in chunks has ``game.chunks`` in
        place of both; ``game.flat()`` converts it.

    Raises:
        GameError: The game does not exist or its rules break their contract; the message names the
            history or infoset.
        FormatError: A file is malformed; the message names file, line and column.
        ImperfectRecallError: A player forgets one of their own actions.
        MemoryLimitError: The game needs more than ``memory_limit``; the message gives both amounts.
        ValueError: ``teams`` does not contain two teams, the teams overlap, or a player is missing;
            or the game cannot be cut at ``cut``.
        MissingExtraError: OpenSpiel or pygambit is not installed; the message names the extra.
        OSError: A file cannot be read.
    """
    with budget(f"compiling {name_of(source)}", memory_limit) as memory, no_garbage_collection():
        name, rules, found_by = resolve_rules(source, **parameters)
        if teams is not None:
            sides = check_teams(name, rules.n_players, teams)
            shared = share_payoffs(rules, sides)
            name = name if shared is rules else name_teams(name, sides)
            rules = shared
        memory.what = f"compiling {name}"
        if cut is None:
            cut = AUTO if isinstance(rules, CardGame) else False
        return compile_rules(
            rules, Compilation(name, memory, symmetry, cut, found_by, progress=progress)
        )


def compile_rules(rules: Rules, compilation: Compilation) -> CompiledGame:
    """Compile a game: read its rules, find its symmetries, lay out its arrays and check them.

    Raises:
        GameError: The rules break their contract, or the game cannot be cut.
        ImperfectRecallError: A player forgets one of their own actions.
        MemoryLimitError: The game would need more than the budget.
        ValueError: There is no such place to cut.
    """
    name, memory, cut = compilation.name, compilation.memory, compilation.cut
    if isinstance(rules, CardGame):
        options = (compilation.symmetry, cut, compilation.limit, compilation.source is not None)
        recompile = partial(_with_options, rules, options)
        if cut is False:
            return replace(lay_out_flat(rules, name, memory.limit), recompile=recompile)
        game = compile_cards(rules, compilation)
        game.recompile = recompile
        return game
    memory.watch = watch = Watch(rules, compilation)
    if not isinstance(rules, PublicTreeGame):
        if cut is not False and cut != AUTO:
            raise ValueError(f"cannot cut {name}: cut= needs private hands and a public tree")
        try:
            histories = history_reader.read_histories(rules, compilation)
        except MemoryLimitError as error:
            raise watch.explain(error) from None
        return flat_compiler.compile_histories(histories, name, symmetry=compilation.symmetry)
    cut_compiler.check_cut(rules, compilation)
    read = public_graph.read(rules, compilation)
    if not cut_compiler.is_cut(rules, read, compilation):
        return flat_compiler.lay_out(rules, read, compilation)
    again = partial(lay_out_flat, rules, name, memory.limit, symmetry=compilation.symmetry)
    return cut_compiler.lay_out(rules, read, compilation, again)


def _with_options(
    rules: CardGame,
    options: tuple[bool, CutLike, int | None, bool],
    memory_limit: int | None,
    changes: Mapping[str, Any],
) -> CompiledGame:
    """Compile a card game with other options of its rules.

    Args:
        rules: The rules.
        options: How the game was compiled: symmetry, cut, limit, and whether by its text.
        memory_limit: Memory limit in bytes; None for the free memory.
        changes: The other options.
    """
    symmetry, cut, limit, by_text = options
    name, changed, source = resolve_changed(rules, changes, by_text=by_text)
    with budget(f"compiling {name}", memory_limit) as memory, no_garbage_collection():
        return compile_rules(changed, Compilation(name, memory, symmetry, cut, source, limit))


def compile_cards(rules: CardGame, compilation: Compilation) -> ChunkedGame:
    """Compile a card game into chunks; see :func:`compile_rules`."""
    again = partial(lay_out_flat, rules, compilation.name, compilation.memory.limit)
    return card_compiler.lay_out(rules, compilation, again)


def lay_out_flat(
    rules: PublicTreeGame | CardGame,
    name: str,
    default_limit: int | None,
    memory_limit: int | None = None,
    *,
    symmetry: bool = False,
) -> FlatGame:
    """Compile a game of private hands as a flat game, under a memory budget of its own.

    Args:
        rules: The rules.
        name: The name of the game.
        default_limit: Memory limit in bytes if the caller gives none; None for the free memory.
        memory_limit: Memory limit in bytes; None for the default.
        symmetry: Whether to merge infosets with indistinguishable payoffs.
    """
    limit = default_limit if memory_limit is None else memory_limit
    if isinstance(rules, CardGame):
        check_memory(rules, name, limit)
        rules = HandByHand(rules)
    with budget(f"laying out {name}", limit) as memory:
        compilation = Compilation(name, memory, symmetry)
        read = public_graph.read(rules, compilation)
        return flat_compiler.lay_out(rules, read, compilation)
