"""Subgames as games: names, ranges, files, values, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.random_games import random_game
from tensorcfr import (
    Chance,
    CompiledGame,
    Decision,
    Payoff,
    Policy,
    PublicTreeGame,
    belief,
    compile_game,
    evaluate,
    load_game,
    resolve,
    save_game,
    solve,
    subgame,
)
from tensorcfr.analysis import values
from tensorcfr.games import make_game
from tensorcfr.subgames import Match, put_back, subgame_roots

LEDUC = compile_game("leduc")
KUHN = compile_game("kuhn")


def restrict(policy: Policy, part: CompiledGame) -> Policy:
    """The strategies of a policy of the whole game as a policy of a subgame without entries."""
    rows = dict(policy)
    return Policy.from_mapping(part, {label: rows[label] for label in part.infoset_labels})


def test_a_subgame_has_the_values_of_the_whole_game() -> None:
    """Reach times value, summed over the roots and the ends above, is the value of the game."""
    policy = solve(LEDUC, "lp").policy
    below = 0.0
    for at in subgame_roots(LEDUC):
        state = belief(LEDUC, policy, at)
        part = subgame(LEDUC, state)
        below += state.reach * evaluate(part, restrict(policy, part)).values[0]
    whole = evaluate(LEDUC, policy).values[0]
    folds = 0.0
    for at, action, won in (
        ("r", "fold", 1),
        ("cr", "fold", -1),
        ("rr", "fold", -3),
        ("crr", "fold", 3),
    ):
        state = belief(LEDUC, policy, at)
        player = 1 if at in ("r", "crr") else 0
        weight = state.weights[0].sum(axis=1 - player)
        hands = LEDUC.public.hands[player]  # type: ignore[union-attr]
        folds += won * sum(
            w * policy[f"{h} {at}"][action] for w, h in zip(weight, hands, strict=True)
        )
    assert below + folds == pytest.approx(whole, abs=1e-12)


def test_several_nodes_are_one_game_in_which_chance_draws() -> None:
    policy = Policy.uniform(LEDUC)
    roots = subgame_roots(LEDUC)
    together = subgame(LEDUC, belief(LEDUC, policy, roots))
    parts = [belief(LEDUC, policy, at) for at in roots]
    apart = [evaluate(s, restrict(policy, s)) for s in (subgame(LEDUC, one) for one in parts)]
    reach = np.array([one.reach for one in parts])
    mean = reach @ [one.values[0] for one in apart] / reach.sum()
    found = evaluate(together, restrict(policy, together))
    assert found.values[0] == pytest.approx(mean, abs=1e-12)
    best = reach @ [one.best_responses[1] for one in apart] / reach.sum()
    assert found.best_responses[1] == pytest.approx(best, abs=1e-12)


def test_several_nodes_with_no_ranges_have_all_hands() -> None:
    part = subgame(LEDUC, subgame_roots(LEDUC))
    assert part.n_infosets == LEDUC.n_infosets - 6 * 6  # All but those of the first round.


def test_a_game_in_chunks_has_the_subgames_of_the_flat_one() -> None:
    cut = compile_game("leduc", cut=3)
    assert subgame(cut, "crc/Qh").digest == subgame(LEDUC, "crc/Qh").digest


def test_the_whole_game_is_a_subgame_of_itself() -> None:
    part = subgame(LEDUC, "start")
    assert list(part.infoset_labels) == list(LEDUC.infoset_labels)
    ours, theirs = (values(game, Policy.uniform(game)) for game in (part, LEDUC))
    np.testing.assert_allclose(ours.counterfactual, theirs.counterfactual, atol=1e-14)


def test_labels_that_are_no_sum_of_hand_and_public_part() -> None:
    """A game that came in as histories keeps its own labels."""
    openspiel = pytest.importorskip("pyspiel")
    game = compile_game(openspiel.load_game("kuhn_poker"))
    assert game.public is not None
    part = subgame(game, subgame_roots(game, 1)[0])
    assert set(part.infoset_labels) < set(game.infoset_labels)
    assert len(put_back(Policy.uniform(game), Policy.uniform(part))) == game.n_infosets


def test_a_subgame_is_saved_and_loaded(tmp_path: Path) -> None:
    part = subgame(LEDUC, "rc/Ks", entry_values=(None, [1.0, 2, 3, 4, 5, 6]))
    again = load_game(save_game(part, tmp_path / "part.npz"))
    assert again.digest == part.digest


def test_entry_values_bound_what_the_opponent_gets() -> None:
    """Alternatives that are better than anything in the game are taken, with every hand."""
    high = subgame(KUHN, "bet", entry_values=(None, (9.0, 8.0, 7.0)))
    assert solve(high, "lp").value[1] == pytest.approx(8.0, abs=1e-9)
    low = subgame(KUHN, "bet", entry_values=(None, (-9.0, -9.0, -9.0)))
    plain = subgame(KUHN, "bet")
    assert solve(low, "lp").value[1] == pytest.approx(solve(plain, "lp").value[1], abs=1e-9)


class Charged(PublicTreeGame):
    """Kuhn poker with a fee for every deal and player, in any unit."""

    def __init__(self, fee: float, unit: float = 1.0) -> None:
        self.rules, self.fee, self.unit = make_game("kuhn"), fee, unit
        self.hands, self.prior = self.rules.hands, self.rules.prior
        self.root, self.next = self.rules.root, self.rules.next

    def node(self, state: Any) -> Decision | Chance | Payoff:
        node = self.rules.node(state)
        return Payoff(self.unit, node) if isinstance(node, Payoff) else node

    def matrix(self, key: Payoff) -> np.ndarray:
        return key.coefficient * np.asarray(self.rules.matrix(key.matrix)) - self.fee


@pytest.mark.parametrize("unit", [1.0, 1e200])
def test_entry_values_count_in_the_unit_of_the_game(unit: float) -> None:
    """Where utilities sum to another number than 0, the other player gets the rest."""
    game = compile_game(Charged(0.25, unit))
    alternative = np.array([9.0, 8.0, 7.0]) * unit
    high = subgame(game, "bet", entry_values=(None, alternative))
    value = solve(high, "lp").value
    assert value[1] / unit == pytest.approx(8.0, abs=1e-9)
    assert value[0] / unit == pytest.approx(-8.5, abs=1e-9)
    found = resolve(game, Policy.uniform(game), "bet", player=0, algorithm="lp", depth_limit=1)
    (plain,) = resolve(game, Policy.uniform(game), "bet", player=0, algorithm="lp").subgames
    # After a bet player 1 acts, and then the game is over: it cannot end early.
    np.testing.assert_allclose(found.subgames[0].values / unit, plain.values / unit, atol=1e-9)
    match = Match(game, Policy.uniform(game), seat=1, resolve_after=None)
    match.deal()
    match.act("bet")
    match.act("pass")
    assert np.array(match.utilities()) / unit == pytest.approx((0.75, -1.25), abs=1e-9)


def test_beliefs_follow_bayes_rule() -> None:
    policy = Policy.uniform(LEDUC).to_dict() | {"Js": {"raise": 1.0}}
    after = belief(LEDUC, policy, "r")
    # Js raises surely, the other five with 1/2.
    assert after.hands(0)["Js"] == pytest.approx(1 / 3.5)
    # The opponent holds one of the cards that are left.
    assert after.hands(1)["Js"] == pytest.approx(2.5 / 5 / 3.5)
    assert after.reach == pytest.approx(3.5 / 6)


@pytest.mark.parametrize(
    ("at", "options", "message"),
    [
        ("Js cr", {}, r"'Js cr' is an infoset .* not closed under infosets.* is 'cr'"),
        ("crx", {}, r"leduc has no public node 'crx'"),
        ("raise fold", {}, r"leduc is over at 'raise fold'"),
        (("r", "rc/Ks"), {}, r"'rc/Ks' lies below 'r'"),
        (("r", "raise"), {}, r"names a public node twice"),
        ((), {}, r"names no public node"),
        ("r", {"ranges": (1, 2, 3)}, r"ranges must be two rows"),
        ("r", {"ranges": ((1,) * 6, (1,) * 5)}, r"ranges of player 1 have the shape \(5,\), .* 6"),
        ("r", {"ranges": ((1,) * 6, (-1,) * 6)}, r"ranges of player 1 hold -1.0"),
        ("r", {"ranges": ({"Xx": 1}, (1,) * 6)}, r"player 0 has no hand 'Xx'"),
        ("r", {"ranges": ((0,) * 6, (1,) * 6)}, r"leave no deal at r of leduc"),
        ("r", {"entry_values": ((1.0,) * 5, None)}, r"entry_values of player 0 have the shape"),
        ("r", {"entry_values": ((np.inf,) * 6, None)}, r"entry_values of player 0 hold inf"),
        ("r", {"entry_values": ((1.0,) * 6, (1.0,) * 6)}, r"must be None for at least one player"),
    ],
)
def test_refusals(at: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        subgame(LEDUC, at, **options)


def test_games_without_subgames_are_refused() -> None:
    with pytest.raises(ValueError, match="is not a game of private hands and a public tree"):
        subgame(compile_game(random_game(1, n_players=2)), "start")
    with pytest.raises(ValueError, match="games of two players"):
        subgame(compile_game("kuhn", players=3), "start")
    with pytest.raises(TypeError, match="public_nodes must be a text of"):
        subgame(LEDUC, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="public_nodes is a belief of kuhn, not of leduc"):
        subgame(LEDUC, belief(KUHN, Policy.uniform(KUHN), "bet"))
    with pytest.raises(ValueError, match="kuhn has no public chance"):
        subgame_roots(KUHN, "chance")
    with pytest.raises(ValueError, match="has the infoset"):
        put_back(Policy.uniform(KUHN), Policy.uniform(LEDUC))


class TestMatch:
    def test_a_play_pays_what_the_rules_say(self) -> None:
        match = Match(KUHN, solve(KUHN, "lp"), seat=1, algorithm="lp", seed=5)
        strength = {"J": 0, "Q": 1, "K": 2}
        for _ in range(6):
            match.deal()
            match.act("bet")
            answer = match.resolve_and_act()
            assert match.is_over
            won = 1 if strength[match.hand(0)] > strength[match.hand(1)] else -1
            assert match.utilities()[0] == (1.0 if answer == "pass" else 2.0 * won)
            assert match.steps == ["bet", answer]

    def test_the_same_seed_gives_the_same_plays(self) -> None:
        def plays() -> list[tuple[tuple[int, int], list[str]]]:
            match = Match(KUHN, Policy.uniform(KUHN), seat=0, algorithm="lp", seed=2)
            found = []
            for _ in range(3):
                match.deal()
                while not match.is_over:
                    if match.to_act == 0:
                        match.resolve_and_act()
                    else:
                        match.act("bet")
                found.append((match.hands, match.steps))
            return found

        assert plays() == plays()

    def test_resolving_begins_after_so_many_cards(self) -> None:
        """In each play anew; before that the player follows the blueprint."""
        match = Match(LEDUC, Policy.uniform(LEDUC), seat=1, resolve_after=1, seed=1)
        for _ in range(2):
            match.deal()
            assert not match.resolves
            match.act("call")
            before = match.policy
            match.resolve_and_act()
            assert match.policy is before
            while match.to_act >= 0 and not match.resolves:
                match.act("call")
            assert match.resolves
            assert len([step for step in match.steps if step[0] in "JQK"]) == 1

    def test_wrong_moves(self) -> None:
        match = Match(KUHN, Policy.uniform(KUHN), seat=1)
        for move in (match.probabilities, match.utilities, lambda: match.act("bet")):
            with pytest.raises(ValueError, match=r"no hands are dealt yet: call deal\(\)"):
                move()
        match.deal()
        with pytest.raises(ValueError, match="there is no action 'fold'"):
            match.act("fold")
        with pytest.raises(ValueError, match="player 1 does not act here"):
            match.resolve_and_act()
        with pytest.raises(ValueError, match="has not ended"):
            match.utilities()
