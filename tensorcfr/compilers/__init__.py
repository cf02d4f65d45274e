"""Compilers: convert rules to flat arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from .._util.arguments import EXACT, AnyOf, Flag, Kind, Limit, OneOf, Several, Text, Whole, checked
from .._util.memory import budget, free_memory, no_garbage_collection
from ..errors import MemoryLimitError
from ..formats.sources import find_rules, name_of
from ..model.game import CompiledGame
from ..model.teams import TEAMS, Teams, check_teams, name_teams
from ..rules import CardGame, PublicTreeGame, Rules
from . import histories, laid_out
from .cards import flat as card_flat
from .cards import game as card_game
from .cut import game as cut_game
from .shared_payoffs import share_payoffs
from .sizes.sizing import CompileProgress, Size, Watch, game_size

__all__ = ["CompileProgress", "Size", "compile_game", "game_size"]

HOOK = Kind((Callable,), "a function")

LONGEST_LABEL = 10_000
"""Characters of a public label at which to cut, at most."""
CUT = AnyOf(
    (
        OneOf((cut_game.AUTO,)),
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
    cut: Annotated[cut_game.CutLike | None, CUT] = cut_game.AUTO,
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
            * a file of Gambit, ``compile_game("game.efg")`` or ``"game.nfg"``, or a
              ``pygambit.Game``;
            * a file with a spot of hold'em, ``"spot.toml"`` or ``"spot.txt"`` (see
              :mod:`tensorcfr.formats.spots`);
            * a game of OpenSpiel, ``compile_game(pyspiel.load_game("leduc_poker"))`` or
              ``compile_game("openspiel:leduc_poker")`` (the extra ``tensorcfr[openspiel]``); limit
              games of ``universal_poker`` between two players become ``limit_poker``.
        symmetry: Whether to merge infosets with indistinguishable payoffs (hands that differ only
            in suits, say) for solving; solutions are of the whole game in any case.
        memory_limit: Bytes that compiling may take; by default the machine's free memory.
        cut: Whether to cut the public tree of a game of private hands between two players into
            chunks, which takes less memory and is faster where the game is large.  ``"auto"`` cuts
            a :class:`PublicTreeGame` of 131,072 sequences or more, and every game of cards; True
            cuts by the cache sizes of this machine; a number of public steps or a set of public
            labels say where to cut; several numbers of steps cut again below each cut; False lays
            the game out, which some algorithms and analyses need.  In a game of cards a number
            says after which deal chunks begin: the betting after each later deal is chunks of the
            betting before it.
        teams: ``((0, 2), (1, 3))``: players 0 and 2 share their payoffs, and so do players 1 and 3;
            each gets the mean of their team's.  What a player knows does not change.  See
            :func:`tensorcfr.evaluation.team_exploitability`.
        progress: Called with a :class:`CompileProgress` about ten times a second while the rules of
            a large game are read, which is the slow part; an exception that it raises ends the
            compile.
        parameters: Parameters of a built-in game.

    Returns:
        The compiled game.  Its arrays are those of :mod:`tensorcfr.model.arrays`: the history tree
        in :attr:`CompiledGame.tree`, the sequence form in :attr:`CompiledGame.form`.

    Raises:
        GameError: The game does not exist or its rules break their contract; the message names
            the history or infoset.
        FormatError: A file is not in its format; names file, line and column.
        ImperfectRecallError: A player forgets an own action.
        MemoryLimitError: The game needs more than ``memory_limit``; gives both figures.
        ValueError: ``teams`` are not two, overlap, or leave a player out.
        MissingExtraError: OpenSpiel or pygambit is not installed; names the extra.
        OSError: A file cannot be read.
    """
    limit = free_memory() if memory_limit is None else memory_limit
    with budget(f"compiling {name_of(source)}", limit) as own, no_garbage_collection():
        name, rules, found_by = find_rules(source, **parameters)
        if teams is not None:
            sides = check_teams(name, rules.n_players, teams)
            shared = share_payoffs(rules, sides)
            name = name if shared is rules else name_teams(name, sides)
            rules = shared
        own.what = f"compiling {name}"
        if isinstance(rules, CardGame):
            if cut is False:
                return card_flat.flatten(rules, name, limit)
            cut = None if cut == cut_game.AUTO else cut
            return card_game.compile_rules(
                rules, name, own, cut=cut, symmetric=symmetry, source=found_by
            )
        own.watch = watch = Watch(rules, name, own, progress)
        cut = False if cut is None else cut
        if isinstance(rules, PublicTreeGame):
            if cut is False:
                return laid_out.compile_rules(rules, name, own, symmetry=symmetry)
            return cut_game.compile_rules(
                rules, name, own, cut=cut, symmetric=symmetry, source=found_by
            )
        if cut is not False and cut != cut_game.AUTO:
            raise ValueError(f"{name} is no game of private hands: it cannot be cut")
        try:
            walked = histories.walk(rules, own)
        except MemoryLimitError as error:
            raise watch.explain(error) from None
        return laid_out.compile_walked(walked, name, symmetry=symmetry)
