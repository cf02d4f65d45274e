"""OpenSpiel's ``universal_poker`` as ``limit_poker`` and ``nolimit_poker``: which games become
them, and are the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.layouts import farthest
from support.tiers import tiered
from tensorcfr import CompiledGame, Solution, Solver, compile_game, solve
from tensorcfr.compilers.sizes.counted import count_betting
from tensorcfr.errors import ImperfectRecallError, MissingExtraError, UnknownGameError
from tensorcfr.formats.openspiel import OpenSpielGame
from tensorcfr.formats.universal_poker import DEFAULTS, MAX_RAISES, poker_of
from tensorcfr.games import make_game
from tensorcfr.rules import Chance, Deal, Decision, Game, Terminal
from tensorcfr.uncompiled.uncompiled_game import UncompiledGame

KEYS = ("numRounds", "blind", "firstPlayer", "numSuits", "numRanks", "numHoleCards")
KEYS += ("numBoardCards", "raiseSize", "maxRaises")
GAMES: dict[str, tuple[Any, ...]] = {
    "no board": (1, "2 1", "2 1", 2, 3, 1, "0 0", "2 2", "2 2"),
    "the larger blind opens": (1, "2 1", "1 1", 2, 4, 1, "0 0", "3 2", "2 2"),
    "two cards, no board": (1, "1 5", "1 1", 3, 3, 2, "0 0", "3 2", "3 2"),
    "Leduc": (2, "100 100", "1 1", 2, 3, 1, "0 1", "200 400", "2 2"),
    "one blind": (2, "0 7", "2 2", 2, 4, 1, "0 2", "5 3", "1 2"),
    "four suits": (2, "10 5", "1 2", 4, 2, 1, "0 3", "5 3", "2 1"),
    "flushes": (2, "10 5", "1 2", 1, 8, 1, "0 5", "5 5", "0 1"),
    "two cards": (2, "50 100", "1 2", 2, 4, 2, "0 1", "100 100", "1 1"),
    "five cards": (2, "50 100", "2 1", 2, 4, 2, "0 3", "100 50", "1 1"),
    "three rounds": (3, "2 1", "2 1 2", 2, 3, 1, "0 1 1", "2 4 3", "1 1 2"),
    "three rounds, two cards": (3, "1 2", "1 2 2", 2, 3, 2, "0 1 1", "2 2 4", "1 0 1"),
}
FAST = ("the larger blind opens", "Leduc")


NO_LIMIT_KEYS = (*KEYS[:7], "stack", "bettingAbstraction", "maxRaises")
NO_LIMIT: dict[str, tuple[Any, ...]] = {
    "no board": (1, "100 50", "2 1", 2, 3, 1, "0 0", "800 800", "fcpa", ""),
    "limps alone": (2, "100 50", "2 1", 2, 3, 1, "0 1", "600 600", "fc", ""),
    "a flop": (2, "100 50", "2 1", 2, 3, 1, "0 1", "650 650", "fcpa", ""),
    "two cards": (2, "2 1", "2 1", 2, 4, 2, "0 2", "9 9", "fcpa", ""),
    "one raise a round": (2, "100 50", "2 1", 3, 2, 1, "0 2", "900 900", "fcpa", "1 1"),
    "three rounds": (3, "2 1", "2 1 1", 2, 3, 1, "0 1 1", "8 8", "fcpa", ""),
}


def text_of(name: str, *, limit: bool = True) -> str:
    """The game as OpenSpiel says it."""
    betting, keys, games = ("limit", KEYS, GAMES) if limit else ("nolimit", NO_LIMIT_KEYS, NO_LIMIT)
    said = ",".join(f"{key}={value}" for key, value in zip(keys, games[name], strict=True))
    return f"universal_poker(betting={betting},{said})"


class InOurWords(Game):
    """OpenSpiel's rules, history by history, with the labels that the built-in game has.

    OpenSpiel's own labels forget in which round a card of the board came.
    """

    def __init__(self, text: str) -> None:
        self.rules, self.ours = OpenSpielGame(text), make_game(poker_of(text))

    def root(self) -> Any:
        return self.rules.root(), self.ours.root(), "", ()

    def node(self, state: Any) -> Decision | Chance | Terminal:
        node = self.rules.node(state[0])
        if not isinstance(node, Decision):
            return node
        hand = node.infoset.partition("[Private: ")[2].partition("]")[0]
        cards = [hand[k : k + 2] for k in range(0, len(hand), 2)]
        numbers = sorted((self.ours.cards.index(card) for card in cards), reverse=True)
        return node._replace(infoset=self._named(numbers) + state[2])

    def next(self, state: Any, action: Any) -> Any:
        theirs, ours, line, dealt = state
        node, after = self.ours.node(ours), self.rules.next(theirs, action)
        if isinstance(node, Decision) and not theirs.is_chance_node():
            # Both list what can be done from fold to all-in.
            own = node.actions[self.rules.node(theirs).actions.index(action)]
            return after, self.ours.next(ours, own), f"{line} {own}", ()
        if isinstance(node, Deal):
            dealt = (*dealt, action.number)
            if len(dealt) == node.cards:
                shown = self._named(sorted(dealt, reverse=True))
                return after, self.ours.next(ours, None), f"{line} {shown}", ()
        return after, ours, line, dealt

    def _named(self, cards: list[int]) -> str:
        return "".join(self.ours.cards[card] for card in cards)


@pytest.mark.compiled
@pytest.mark.openspiel
@pytest.mark.parametrize("name", tiered(GAMES, FAST))
def test_equal_to_openspiel(name: str) -> None:
    """Infosets, sequences, strategies, and values and exploitability after 1, 2, 3 and 10
    iterations of CFR, wherever the game is cut."""
    ours = assert_equal(text_of(name), 1e-11)
    assert ours.name.startswith("limit_poker(")


@pytest.mark.compiled
@pytest.mark.openspiel
@pytest.mark.parametrize("name", tiered(NO_LIMIT, []))
def test_no_limit_is_equal_to_openspiel(name: str) -> None:
    """The same with fold, call, pot and all-in; all-ins before the flop are run out at once."""
    stakes = max(map(int, NO_LIMIT[name][7].split()))
    ours = assert_equal(text_of(name, limit=False), 1e-12 * stakes)
    assert ours.name.startswith("nolimit_poker(")


def assert_equal(text: str, tolerance: float) -> CompiledGame:
    """A game of OpenSpiel as a built-in one, which is returned, equals its histories."""
    pyspiel = pytest.importorskip("pyspiel")
    given, other = pyspiel.load_game(text), compile_game(InOurWords(text))
    ours = compile_game(given)
    assert compile_game(f"openspiel:{text}").digest == ours.digest
    deals = count_betting(InOurWords(text).ours, text)[1]
    if len(deals) > 1:
        with pytest.raises(ImperfectRecallError):
            compile_game(OpenSpielGame(text))
    assert ours.n_infosets == other.n_infosets
    assert ours.n_sequences == other.n_sequences
    assert ours.n_histories <= other.n_histories  # There, cards come one by one.
    two = Solver(other, "cfr")
    # Cut after each deal, below it again after the later ones.
    games = [ours, *(compile_game(given, cut=deal) for deal in range(1, len(deals) + 1))]
    solvers = [Solver(game, "cfr", threads=1 + nth % 2) for nth, game in enumerate(games)]
    for count in (1, 1, 1, 7):
        two.iterate(count)
        expected = two.evaluate()
        for one in solvers:
            one.iterate(count)
            found = one.evaluate()
            assert farthest(one.average_policy(), two.average_policy()) <= 1e-10
            np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=tolerance)
            assert found.nash_conv == pytest.approx(expected.nash_conv, abs=tolerance)
    return ours


@pytest.mark.openspiel
def test_the_defaults_are_those_of_openspiel() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game("universal_poker(betting=limit)").get_parameters()
    assert {key: str(value) for key, value in theirs.items()} == {**DEFAULTS, "betting": "limit"}


def test_a_text_needs_no_openspiel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is found is a built-in game, which files find again."""
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    text = f"openspiel:{text_of('Leduc')}"
    solution = solve(compile_game(text), "cfr+", iters=2)
    assert Solution.load(solution.save(tmp_path / "leduc.npz")).game.name == solution.game.name
    assert UncompiledGame(text).source == solution.game.name
    with pytest.raises(TypeError, match="parameters suits are only for built-in games"):
        compile_game(text, suits=3)
    with pytest.raises(MissingExtraError):
        compile_game(text.replace("limit", "nolimit"))


def test_what_is_read() -> None:
    """The first of ACPC's games: ``firstPlayer`` counts from 1, and player 0 has the big blind."""
    text = (
        "universal_poker(betting=limit, numPlayers=2,numRounds=4,blind=10 5,firstPlayer=2 1 1 1,"
        "numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1,raiseSize=10 10 20 20,"
        "maxRaises=3 4 4 4,stack=7 7)"
    )
    assert poker_of(f" openspiel:{text} ") == (
        "limit_poker(ranks='23456789TJQKA', suits=4, hand=2, deals=(3, 1, 1), "
        "bets=(10, 10, 20, 20), raises=(3, 4, 4, 4), blinds=(5, 10), first=(1, 0, 0, 0))"
    )
    assert poker_of("universal_poker(betting=limit,maxRaises=2 2 9)") == (
        "limit_poker(ranks='234567', suits=4, hand=1, deals=(1,), bets=(100, 100), "
        "raises=(2, 2), blinds=(100, 100), first=(0, 0))"
    )


LIMIT = "betting=limit,maxRaises=1 1"
NO_LIMITS = {"blind": "100 50", "firstPlayer": "2 1", "numRanks": "3"}


@pytest.mark.parametrize(
    "text",
    [
        "leduc_poker",
        "universal_poker",
        "universal_poker(",
        *("universal_poker()", "universal_poker(betting=limit)", "universal_poker(maxRaises=1 1)"),
        *(f"python_poker({LIMIT})", f"universal_poker({LIMIT}", f"universal_poker({LIMIT},)"),
        *(
            f"universal_poker({LIMIT},{said})"
            for said in (
                *("numPlayers=3", "numHoleCards=3", "numHoleCards=0", "numSuits=5", "colour=1"),
                *("numRanks=14", "numRanks=0", "numRanks=-1", "numRanks=x", "numRounds=0"),
                *("numRounds=3", "numRounds=-1", "numBoardCards=1 1", "numBoardCards=0 0"),
                *("numBoardCards=0 7", "blind=0 0", "blind=1", "blind=1 2 3", "blind=-1 2"),
                *("raiseSize=0 1", "raiseSize=1", "firstPlayer=1", "firstPlayer=0 1"),
                *("firstPlayer=3 1", "potSize=5", "boardCards=2c", "handReaches=1 1"),
                *("bettingAbstraction=fc", "bettingAbstraction=fchpa", "numRanks=5,numRanks=5"),
            )
        ),
        f"universal_poker(betting=limit,maxRaises=1 {MAX_RAISES + 1})",
    ],
)
def test_what_stays_as_it_is(text: str) -> None:
    assert poker_of(text) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("bettingAbstraction", "fchpa"), ("bettingAbstraction", "fullgame")),
        *(("firstPlayer", "1 1"), ("firstPlayer", "2 2"), ("stack", "600 700"), ("stack", "600")),
        *(("blind", "50 100"), ("blind", "100 100"), ("blind", "100 0"), ("maxRaises", "1 2")),
        *(("potSize", "5"), ("numPlayers", "3"), ("betting", "pot"), ("stack", "100 100")),
    ],
)
def test_what_stays_without_limits(key: str, value: str) -> None:
    def text(said: dict[str, str]) -> str:
        return f"universal_poker({','.join(f'{k}={v}' for k, v in said.items())})"

    assert poker_of(text(NO_LIMITS)) == (
        "nolimit_poker(ranks='234', suits=4, hand=1, deals=(1,), stacks=1200, raises='100%,a', "
        "bets='100%,a', blinds=(50, 100), most_raises=100, runout=1, chip=1)"
    )
    assert poker_of(text(NO_LIMITS | {key: value})) is None


@pytest.mark.openspiel
def test_other_games_are_walked(tmp_path: Path) -> None:
    """No-limit, and rules that were asked for by their class: their files need them."""
    pyspiel = pytest.importorskip("pyspiel")
    shared = "numRounds=1,numRanks=2,numSuits=2,firstPlayer=1 1,numBoardCards=0 0"
    nolimit = compile_game(f"openspiel:universal_poker({shared},stack=200 200)")
    assert nolimit.name.startswith("openspiel:universal_poker(")
    limit = f"universal_poker({shared},{LIMIT})"
    assert compile_game(f"openspiel:{limit}").name.startswith("limit_poker(")
    rules = OpenSpielGame(limit)
    assert compile_game(rules).name == f"openspiel:{limit}"
    assert rules.text is None
    file = solve(rules, "outcome_sampling", iters=10, seed=1).save(tmp_path / "theirs.npz")
    unknown = Solution.load(file)
    with pytest.raises(UnknownGameError, match=r"Solution.load\(path, game=...\)"):
        solve(unknown.game, start=unknown, iters=1)
    assert Solution.load(file, game=rules).game.rules is rules
    found = solve(pyspiel.load_game(limit), "outcome_sampling", iters=10, seed=1)
    assert Solution.load(found.save(tmp_path / "ours.npz")).game.name == found.game.name
