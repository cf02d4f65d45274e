"""Private hands x public tree found in games that came in as histories, or rightly not found.

A game that was dealt and played history by history is solved along the same blocks as the one that
said its hands; a game that only looks like one keeps its histories and the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.equality import as_game, assert_equal, check_random, difference
from support.payoff_paths import PATHS, forced
from support.properties import examples
from support.random_games import (
    RandomPublicTreeGame,
    Veiled,
    games_with_copies,
    keyed,
    public_tree_games,
)
from support.reference import DealtGame, ReferenceCFR, forgetful_infosets
from support.tiers import tiered
from support.variants import PLAIN
from tensorcfr import (
    Chance,
    CompiledGame,
    Decision,
    Game,
    Payoff,
    PublicTreeGame,
    Solver,
    Terminal,
    compile_game,
    compilers,
    evaluate,
)
from tensorcfr.games import make_game
from tensorcfr.payoff import PayoffBlocks, PayoffEntries
from tensorcfr.payoff.blocks import COUNT

BUILT_IN = (
    "kuhn",
    "kuhn(cards=5)",
    "one_card_poker(cards=4)",
    "liars_dice(faces=3)",
    "liars_dice(faces=4)",
    "liars_dice(dice=2, faces=2)",
    "bluff(dice=(2, 1), faces=3)",
    "leduc",
    "leduc(ranks=4, suits=1)",
)


def shapes(game: CompiledGame) -> dict[str, object]:
    """What two compiled games of one kind have in common, names and numbering apart."""
    forms = [game.form, *([game.merged.form] if game.merged is not None else [])]

    def parts(kind: type) -> list[Any]:
        return [part for form in forms for part in form.operator if isinstance(part, kind)]

    return {
        "forms": len(forms),
        "infosets": [form.player_infosets.tolist() for form in forms],
        "buckets": [form.bucket_lanes.tolist() for form in forms],
        "blocks": [sorted(blocks.block[:, COUNT].tolist()) for blocks in parts(PayoffBlocks)],
        "entries": [len(entries.value) for entries in parts(PayoffEntries)],
    }


def assert_same_solutions(one: CompiledGame, other: CompiledGame, algorithm: str) -> None:
    """Average strategies by label, and what they are worth."""
    solvers = [Solver(one, algorithm), Solver(other, algorithm)]
    for solver in solvers:
        solver.iterate(5)
    expected = {label: list(row.values()) for label, row in solvers[0].average_policy().items()}
    worst, where = difference(solvers[1].average_policy(), expected)
    assert worst <= 1e-12, f"infoset {where!r}: off by {worst}"
    np.testing.assert_allclose(
        solvers[0].evaluate().best_responses, solvers[1].evaluate().best_responses, atol=1e-12
    )


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("spec", tiered(BUILT_IN, BUILT_IN[:4]))
def test_built_in_games_are_recognised(spec: str, path: str) -> None:
    rules = make_game(spec)
    with forced(path):
        said, found = compile_game(rules), compile_game(as_game(rules))
    assert found.public is not None
    assert found.histories is not None
    assert shapes(found) == shapes(said)
    assert_same_solutions(said, found, "cfr+" if spec == "leduc" else "cfr")
    assert found.n_histories == said.n_histories
    np.testing.assert_array_equal(found.tree.parent, said.tree.parent)
    np.testing.assert_allclose(found.tree.utility, said.tree.utility, rtol=1e-15)
    labels = [
        [game.infoset_labels[i] for i in game.tree.infoset if i >= 0] for game in (found, said)
    ]
    assert labels[0] == labels[1]


def positive(game: RandomPublicTreeGame) -> RandomPublicTreeGame:
    """With coefficients above 0: a matrix and its negative are two in a game of histories."""
    said = {
        state: node._replace(coefficient=abs(node.coefficient))
        if isinstance(node, Payoff)
        else node
        for state, node in game.said.items()
    }
    return RandomPublicTreeGame(game.prior, said, game.matrices, call=f"positive({game.call})")


@examples(40)
@given(
    game=games_with_copies(matrices=("generic",)),
    variant=st.sampled_from(sorted(PLAIN)),
    path=st.sampled_from(("as measured", "blocks", "chained blocks")),
)
def test_random_games_are_recognised(game: RandomPublicTreeGame, variant: str, path: str) -> None:
    """Those in which both players act, whatever they hold, before public chance does."""
    rules = positive(game)
    with forced(path):
        said, found = compile_game(rules), compile_game(as_game(rules))
        check_random(as_game(rules), PLAIN[variant])
    if found.public is None:
        assert_not_of_the_form(rules)
    elif isinstance(rules.said[()], Decision):
        assert shapes(found) == shapes(said)
    assert np.array_equal(np.sort(found.tree.utility[:, 0]), np.sort(said.tree.utility[:, 0]))


def assert_not_of_the_form(rules: RandomPublicTreeGame) -> None:
    """The reasons for which a dealt public-tree game is none to who sees its histories only:
    somebody has several hands and never acts, or never acts with one of them; chance right after
    the deal is a part of the deal, which nobody may learn."""
    acts = [
        {label[0] for label, infoset in as_tree(rules).infosets.items() if infoset.player == player}
        for player in range(2)
    ]
    silent = any(len(acts[player]) < rules.prior.shape[player] for player in range(2))
    assert silent or isinstance(rules.said[()], Chance)


def as_tree(rules: RandomPublicTreeGame) -> Any:
    return ReferenceCFR(as_game(rules), average_power=0, alternating=True).tree


@examples(60)
@given(
    game=public_tree_games(n_players=2, max_hands=st.sampled_from((2, 3))),
    seed=st.integers(0, 1000),
    blur=st.sampled_from((0.1, 0.25, 0.5)),
    variant=st.sampled_from(sorted(PLAIN)),
    path=st.sampled_from(sorted(PATHS)),
)
def test_games_that_look_like_it(
    game: RandomPublicTreeGame, seed: int, blur: float, variant: str, path: str
) -> None:
    """Hands that are learnt late, steps that go unseen: recognised or refused, never wrong."""
    veiled = Veiled(game, seed, blur)
    assert not forgetful_infosets(ReferenceCFR(veiled, average_power=0, alternating=True).tree)
    with forced(path):
        check_random(veiled, PLAIN[variant])


# ------------------------------------------------------------------------------- what is refused


class Relabelled(DealtGame):
    """A dealt game whose players read their labels through ``glasses(player, label)``."""

    def __init__(self, game: PublicTreeGame, glasses: Callable[[int, str], str]) -> None:
        super().__init__(game)
        self.glasses = glasses

    def node(self, state: Any) -> Any:
        node = super().node(state)
        if not isinstance(node, Decision):
            return node
        assert node.infoset is not None
        return node._replace(infoset=self.glasses(node.player, node.infoset))


class TwoRounds(PublicTreeGame):
    """Both players act, then player 1 once more; any payoffs."""

    hands = [("a", "b"), ("x", "y")]
    prior = np.array([[0.1, 0.2], [0.3, 0.4]])

    def node(self, state: tuple[str, ...]) -> Decision | Payoff:
        if len(state) == 3:
            return Payoff(1 + 0.37 * int("".join(state), 2), "k")
        return Decision(min(len(state), 1), None, ("0", "1"))

    def matrix(self, key: str) -> np.ndarray:
        own = np.array([[1.1, -0.6], [0.3, -1.7]])
        return np.array([own, 0.2 - own])


class Written(Game):
    """A game from a function of its histories."""

    def __init__(self, node: Callable[[tuple[str, ...]], Any]) -> None:
        self._node = node

    def node(self, state: tuple[str, ...]) -> Any:
        return self._node(state)


def late(history: tuple[str, ...]) -> Any:
    """Player 0 acts before learning the deal, and once more afterwards."""
    if not history:
        return Chance({"1": 0.4, "2": 0.6})
    deal, *acts = history
    if len(acts) == 3:
        return Terminal([own := keyed(8, history).uniform(-1, 1), -own])
    if len(acts) == 1:
        return Decision(1, f"{deal}{acts}", ["l", "r"])
    return Decision(0, f"late {deal}{acts}" if acts else "blind", ["l", "r"])


REFUSED: dict[str, Game] = {
    "a hidden action": Relabelled(
        TwoRounds(), lambda player, label: label[:1] + label[3:] if player == 1 else label
    ),
    "player 1 learns his hand late": Relabelled(
        TwoRounds(),
        lambda player, label: f"?{label[1:]}" if player == 1 and len(label) == 3 else label,
    ),
    "two deals that player 1 cannot tell apart": Relabelled(
        TwoRounds(), lambda player, label: f"1{label[1:]}" if player == 1 else label
    ),
    "player 0 has no hand": Relabelled(
        TwoRounds(), lambda player, label: f"0{label[1:]}" if player == 0 else label
    ),
    "player 0 learns the deal late": Written(late),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """One infoset over two public nodes; one hand for two deals of a player; two infosets of one
    hand at one public node."""
    for path in PATHS:
        with forced(path):
            game = compile_game(REFUSED[name])
        assert game.public is None, path
    for variant in ("cfr", "cfr+ simultaneous"):
        algorithm, options = PLAIN[variant]
        assert_equal(
            Solver(game, algorithm), ReferenceCFR(REFUSED[name], **options), (1, 2, 10, 50)
        )


def test_the_same_game_unmasked_is_recognised() -> None:
    assert compile_game(Relabelled(TwoRounds(), lambda player, label: label)).public is not None


def deeper(history: tuple[str, ...]) -> Any:
    """Deal ``b`` takes chance one step longer than deal ``a``."""
    if not history:
        return Chance({"a": 0.3, "b": 0.7})
    if history == ("b",):
        return Chance({"c": 0.4, "d": 0.6})
    hand = "".join(step for step in history if step in "abcd")
    done = history[len(hand) :]
    if len(done) == 2:
        return Terminal((1.0 + len(hand) * int(done[0]) - int(done[1]), 0.3 * len(hand)))
    if not done:
        return Decision(0, f"0{hand}", ("0", "1"))
    return Decision(1, f"1{done[0]}", ("0", "1"))


def chance_only(history: tuple[str, ...]) -> Any:
    return Terminal((1.0, -2.0)) if len(history) == 2 else Chance({"a": 0.25, "b": 0.75})


def one_deal_ends(history: tuple[str, ...]) -> Any:
    """With deal ``b`` the game is over before anybody acts."""
    if not history:
        return Chance({"a": 0.3, "b": 0.7})
    if history[0] == "b":
        return Terminal((1.0, -1.0))
    if len(history) == 3:
        return Terminal((float(history[1]) - 0.4, float(history[2])))
    return Decision(len(history) - 1, f"{len(history)}", ("0", "1"))


def other_actions(history: tuple[str, ...]) -> Any:
    """The same public place has two actions with one deal and three with the other."""
    if not history:
        return Chance({"a": 0.3, "b": 0.7})
    if len(history) == 3:
        return Terminal((float(history[1]) - 0.4, float(history[2]) * float(history[1])))
    if len(history) == 2:
        return Decision(1, f"1{history[0]}{history[1]}", ("0", "1"))
    return Decision(0, f"0{history[0]}", ("0", "1", "2") if history[0] == "b" else ("0", "1"))


def deal_nobody_gets(history: tuple[str, ...]) -> Any:
    """A deal with probability 0, which stays among the histories."""
    if not history:
        return Chance({"a": 0.0, "b": 0.4, "c": 0.6})
    if len(history) == 3:
        return Terminal((float(history[1]) - 0.4, float(history[2]) * float(history[1])))
    return Decision(len(history) - 1, f"{len(history)}{history[0]}{history[1:]}", ("0", "1"))


def no_deal(history: tuple[str, ...]) -> Any:
    if len(history) == 2:
        return Terminal((float(history[0]) - 0.4, float(history[1])))
    return Decision(len(history), f"{len(history)}", ("0", "1"))


@pytest.mark.parametrize("node", [deeper, one_deal_ends, other_actions, deal_nobody_gets, no_deal])
def test_other_deals(node: Callable[[tuple[str, ...]], Any]) -> None:
    """Deals of different depth, or of none, are no private hands; the numbers are right."""
    rules = Written(node)
    game = compile_game(rules)
    assert game.public is None
    for variant in ("cfr simultaneous", "cfr+"):
        algorithm, options = PLAIN[variant]
        assert_equal(Solver(game, algorithm), ReferenceCFR(rules, **options), (1, 2, 10, 50))


def test_chance_only() -> None:
    game = compile_game(Written(chance_only))
    assert game.public is None
    assert evaluate(game, {}).values == (1.0, -2.0)


@pytest.mark.parametrize("spec", ["goofspiel(cards=3)", "goofspiel(cards=4)"])
def test_goofspiel_is_refused(spec: str) -> None:
    """Its bids are hidden."""
    assert compile_game(spec).public is None


@pytest.mark.openspiel
@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("kuhn_poker", "kuhn"),
        ("leduc_poker", "leduc"),
        ("liars_dice(numdice=1,dice_sides=3)", "liars_dice(faces=3)"),
        ("liars_dice(numdice=1,dice_sides=4)", "liars_dice(faces=4)"),
    ],
)
def test_openspiel_games_have_the_built_in_blocks(text: str, spec: str) -> None:
    pytest.importorskip("pyspiel")
    for path in PATHS:
        with forced(path):
            theirs, ours = compile_game(f"openspiel:{text}"), compile_game(spec)
        assert theirs.public is not None
        assert shapes(theirs) == shapes(ours)
        solvers = [Solver(theirs, "cfr"), Solver(ours, "cfr")]
        for solver in solvers:
            solver.iterate(10)
        found, expected = (solver.evaluate() for solver in solvers)
        np.testing.assert_allclose(found.values, expected.values, atol=1e-12)
        np.testing.assert_allclose(found.best_responses, expected.best_responses, atol=1e-12)


# ----------------------------------------------------------------------------------- OpenSpiel


@pytest.mark.openspiel
@pytest.mark.parametrize(
    ("text", "recognised"),
    [
        ("leduc_poker(suit_isomorphism=True)", True),
        ("tiny_hanabi", True),
        # Two dice are rolled in order, and seen without it: several deals are one pair of hands.
        ("liars_dice(numdice=2,dice_sides=2)", False),
        (
            "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=3,"
            "points_order=descending,returns_type=win_loss))",
            False,
        ),
    ],
)
def test_openspiel_games_with_and_without_recognition(
    text: str, recognised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyspiel")
    game = compile_game(f"openspiel:{text}")
    assert (game.public is not None) == recognised
    monkeypatch.setattr(compilers.recognition, "recognise", lambda walked: None)
    plain = compile_game(f"openspiel:{text}")
    assert plain.public is None
    assert_same_solutions(plain, game, "cfr")
