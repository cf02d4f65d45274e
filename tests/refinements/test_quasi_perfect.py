"""Quasi-perfect equilibria: published examples, and the definition checked in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from support.equality import as_game
from support.reference import ChanceNode, DecisionNode, Node, TerminalNode, build_tree
from tensorcfr import Chance, Decision, Game, Terminal, compile_game
from tensorcfr.analysis import conditional_regrets
from tensorcfr.games import make_game
from tensorcfr.refinements import QuasiPerfect, quasi_perfect

pytest.importorskip("flint")


class GuessTheAce(Game):
    """Player 0 quits, or gives 1000 to player 1 if they can tell whether the top card of a deck is
    the ace of spades.  With ``gift``, player 0 may give the 1000 after a wrong guess, too.

    Source: P. B. Miltersen, T. B. Sørensen, "Computing sequential equilibria for two-player games",
    SODA 2006, its first two examples.
    """

    def __init__(self, *, gift: bool) -> None:
        self.gift = gift

    def root(self) -> tuple[str, ...]:
        return ()

    def next(self, state: tuple[str, ...], action: str) -> tuple[str, ...]:
        return (*state, action)

    def node(self, state: tuple[str, ...]) -> Decision | Chance | Terminal:
        if not state:
            return Chance({"ace": 1 / 52, "other": 51 / 52})
        if len(state) == 1:
            return Decision(0, "offer?", ("quit", "offer"))
        if state[1] == "quit":
            return Terminal((0.0, 0.0))
        if len(state) == 2:
            return Decision(1, "guess", ("ace", "other"))
        if state[0] != state[2] and self.gift:
            if len(state) == 3:
                return Decision(0, f"gift after {state[2]}?", ("keep", "give"))
            return Terminal((-1000.0, 1000.0) if state[3] == "give" else (0.0, 0.0))
        return Terminal((-1000.0, 1000.0) if state[0] == state[2] else (0.0, 0.0))


class Tree(Game):
    """A game of perfect information: nested (player, name, {action: ...}) or a payoff."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree

    def root(self) -> Any:
        return self.tree

    def next(self, state: Any, action: str) -> Any:
        return state[2][action]

    def node(self, state: Any) -> Decision | Terminal:
        if not isinstance(state, tuple):
            return Terminal((state, -state))
        return Decision(state[0], state[1], tuple(state[2]))


def pure(found: QuasiPerfect) -> dict[str, str]:
    """The actions that are played for sure, by infoset."""
    return {
        label: action
        for label, row in found.probabilities.items()
        for action, probability in row.items()
        if probability == 1
    }


@pytest.mark.parametrize("gift", [False, True])
def test_guess_the_ace(gift: bool) -> None:
    """Both equilibria of player 1 are Nash; a guess of the ace wins 20 instead of 980.  With the
    gift no guess dominates the other one."""
    found = quasi_perfect(compile_game(GuessTheAce(gift=gift)))
    expected = {"offer?": "quit", "guess": "other"}
    if gift:
        expected |= {"gift after ace?": "keep", "gift after other?": "keep"}
    assert pure(found) == expected
    assert found.value == 0


def test_the_better_of_two_winning_answers() -> None:
    """OpenSpiel's counterexample by R. Gibson (``cfr_seq_eq_example.py``): after the mistake ``r``
    10 is better than 9, which is as good in a Nash equilibrium."""
    tree = (1, "P2", {"l": 0.0, "r": (0, "P1", {"l": 0.0, "m": 9.0, "r": 10.0})})
    assert pure(quasi_perfect(compile_game(Tree(tree)))) == {"P2": "l", "P1": "r"}


def test_later_trembles_are_smaller() -> None:
    """With the same least reach for all sequences, player 0 would play c and d, p and q alike.

    Source: G. Farina's lecture notes on perfect equilibria (MIT 6.S890, 2026), appendix; d loses 2
    in the subgame where c wins 1.
    """
    after = {
        "r": (0, "after r", {"c": 1.0, "d": -2.0}),
        "s": (0, "after s", {"p": 0.0, "q": 0.0}),
    }
    found = quasi_perfect(compile_game(Tree((0, "root", {"a": 2.0, "b": (1, "P2", after)}))))
    assert found.probabilities["root"] == {"a": 1, "b": 0}
    assert found.probabilities["after r"] == {"c": 1, "d": 0}
    assert found.probabilities["P2"] == {"r": 0, "s": 1}


# ------------------------------------------------------------------------------- the definition


Reaches = dict[tuple[str, int], Fraction]


def simple(number: float) -> Fraction:
    return Fraction(number).limit_denominator(10**6)


class Perturbed:
    """The game with a least own reach of ``e ** k`` for every sequence of ``k`` actions, by
    recursion over the histories, in fractions; shares no code with the library."""

    def __init__(self, rules: Any, reaches: Reaches, e: Fraction) -> None:
        self.tree, self.reaches, self.e = build_tree(as_game(rules)), reaches, e
        self.gain: dict[tuple[int, tuple[str, int] | None], Fraction] = {}
        self.after: dict[tuple[int, tuple[str, int] | None], dict[str, int]] = {}
        self.length: dict[str, int] = {}
        self._visit(self.tree.root, Fraction(1), [None, None], [0, 0])

    def _visit(self, node: Node, chance: Fraction, last: list[Any], length: list[int]) -> None:
        if isinstance(node, TerminalNode):
            for player in range(2):
                other = last[1 - player]
                reach = self.reaches[other] if other else Fraction(1)
                key = player, last[player]
                paid = chance * reach * simple(node.utilities[player])
                self.gain[key] = self.gain.get(key, Fraction(0)) + paid
        elif isinstance(node, ChanceNode):
            for p, child in zip(node.probabilities, node.children, strict=True):
                self._visit(child, chance * simple(p), last, length)
        else:
            assert isinstance(node, DecisionNode)
            label, player = node.infoset.label, node.infoset.player
            self.length[label] = length[player]
            self.after.setdefault((player, last[player]), {})[label] = len(node.children)
            for action, child in enumerate(node.children):
                below, longer = list(last), list(length)
                below[player], longer[player] = (label, action), length[player] + 1
                self._visit(child, chance, below, longer)

    def value(self, player: int, last: tuple[str, int] | None = None) -> Fraction:
        """What the player's own reaches earn."""
        reach = self.reaches[last] if last else Fraction(1)
        found = reach * self.gain.get((player, last), Fraction(0))
        for label, actions in self.after.get((player, last), {}).items():
            found += sum(self.value(player, (label, action)) for action in range(actions))
        return found

    def best(self, player: int, last: Any, reach: Fraction) -> tuple[Fraction, Fraction]:
        """The best that ``reach`` of a sequence can earn, and what a little more would add."""
        total = reach * self.gain.get((player, last), Fraction(0))
        more = self.gain.get((player, last), Fraction(0))
        for label, actions in self.after.get((player, last), {}).items():
            least = self.e ** (self.length[label] + 1)
            below = [self.best(player, (label, a), least) for a in range(actions)]
            most = max(gain for _, gain in below)
            total += sum(worth for worth, _ in below) + (reach - actions * least) * most
            more += most
        return total, more


@pytest.mark.parametrize(
    "name", ["kuhn", "kuhn(cards=8)", "guess", "guess with gift", "one_card_poker(cards=3)"]
)
def test_limits_of_equilibria_with_trembles(name: str) -> None:
    """For small ``e`` the reaches are best responses to each other with least reaches: what
    the theorem of Miltersen and Sørensen asks for."""
    rules = GuessTheAce(gift="gift" in name) if name.startswith("guess") else make_game(name)
    game = compile_game(rules)
    found = quasi_perfect(game)
    for e in (found.trembles, Fraction(1, 10**6), Fraction(1, 10**20)):
        reaches: Reaches = {}
        for infoset, label in enumerate(game.infoset_labels):
            for action, s in enumerate(range(game.n_sequences)[game.sequences(infoset)]):
                reaches[label, action] = sum(
                    (c * e**k for k, c in enumerate(found.reaches[s])), Fraction(0)
                )
        perturbed = Perturbed(rules, reaches, e)
        for player in range(2):
            best, _ = perturbed.best(player, None, Fraction(1))
            assert perturbed.value(player) == best
    regrets = conditional_regrets(game, found.policy)
    assert regrets.everywhere.largest == pytest.approx(0, abs=1e-12)


def test_known_values() -> None:
    """Kuhn's value is -1/18 (H. W. Kuhn, 1950); the king bets three times as often as the jack."""
    found = quasi_perfect(compile_game("kuhn"))
    assert found.value == Fraction(-1, 18)
    assert found.probabilities["K"]["bet"] == 3 * found.probabilities["J"]["bet"]
    assert found.probabilities["Qb"] == {"pass": Fraction(2, 3), "bet": Fraction(1, 3)}


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="two players"):
        quasi_perfect(compile_game("kuhn(players=3)"))
    with pytest.raises(ValueError, match="at most 1,000 sequences"):
        quasi_perfect(compile_game("leduc"))
