"""Compilers: convert rules to flat arrays."""

from __future__ import annotations

from collections.abc import Callable
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
from .._util.memory_budget import budget, free_memory, no_garbage_collection
from .._util.renamed import renamed_in_module
from ..formats.game_sources import name_of, resolve_rules
from ..model.compiled_game import CompiledGame
from ..model.teams import TEAMS, Teams, check_teams, name_teams
from ..rules import CardGame, Rules
from .compilation import AUTO, Compilation, CompileProgress, CutLike
from .pipeline import compile_rules
from .shared_payoffs import share_payoffs
from .sizes.sizing import GameSize, game_size

__all__ = ["CompileProgress", "GameSize", "compile_game", "game_size"]

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
    limit = free_memory() if memory_limit is None else memory_limit
    with budget(f"compiling {name_of(source)}", limit) as memory, no_garbage_collection():
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


__getattr__ = renamed_in_module(__name__, Size="GameSize")
