"""Goofspiel: counts, rules, and equality with OpenSpiel history by history."""

import math
import pickle
from collections import defaultdict

import pytest

from support.walks import choices, counts, histories, play
from tensorcfr.games.goofspiel import Goofspiel
from tensorcfr.rules import Chance, Decision, Terminal


# OpenSpiel 2.0.2, turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=...,
# points_order=descending,returns_type=win_loss)), walked history by history
# (reference/games.json: goofspiel_3_wl, goofspiel_4_wl, goofspiel_5_wl).
@pytest.mark.parametrize(
    ("cards", "expected"),
    [
        (3, (67, 0, [10, 21], 36, [8, 8], [18, 18])),
        (4, (1077, 0, [161, 340], 576, [81, 81], [175, 175])),
        (5, (26931, 0, [4026, 8505], 14400, [1062, 1062], [2284, 2284])),
    ],
)
def test_counts(cards, expected):
    assert counts(Goofspiel(cards=cards)) == expected


# The same file, goofspiel_4_pd and goofspiel_4_wl: utility_min, utility_max.
@pytest.mark.parametrize(("payoff", "largest"), [("point_difference", 4.0), ("win_loss", 1.0)])
def test_utility_range(payoff, largest):
    game = Goofspiel(cards=4, payoff=payoff)
    utilities = [node.utilities for _, node in histories(game) if isinstance(node, Terminal)]
    for player in range(2):
        own = [both[player] for both in utilities]
        assert (min(own), max(own)) == (-largest, largest)
    assert all(sum(both) == 0 for both in utilities)


def test_defaults_are_four_cards_descending():
    assert counts(Goofspiel()) == (1077, 0, [161, 340], 576, [81, 81], [175, 175])


def test_the_highest_bid_wins_and_the_last_cards_play_themselves():
    game = Goofspiel(cards=3, payoff="total_points")
    # 3 goes to player 1 (1 < 2), 2 to player 0 (3 > 1), 1 to player 1 (2 < 3).
    assert play(game, 1, 2, 3, 1) == Terminal((2.0, 4.0))


def test_a_tied_prize_goes_to_nobody():
    game = Goofspiel(cards=3, payoff="total_points")
    assert play(game, 1, 1, 3, 3) == Terminal((0.0, 0.0))
    assert play(game, 1, 1, 3, 2) == Terminal((2.0, 1.0))


def test_ascending_prizes():
    game = Goofspiel(cards=3, prizes="ascending", payoff="total_points")
    # 1 goes to player 1, 2 to player 0, 3 to player 1.
    assert play(game, 1, 2, 3, 1) == Terminal((2.0, 4.0))


def test_payoffs():
    bids = (1, 2, 3, 1)
    assert play(Goofspiel(cards=3), *bids) == Terminal((-1.0, 1.0))
    difference = Goofspiel(cards=3, payoff="point_difference")
    assert play(difference, *bids) == Terminal((-1.0, 1.0))  # 2 and 4, minus their mean
    assert play(Goofspiel(cards=3), 1, 1, 2, 2) == Terminal((0.0, 0.0))


def test_win_loss_among_three_is_shared():
    game = Goofspiel(cards=2, players=3)
    # 2 goes to player 2 alone; the 1 is tied between 0 and 1.
    assert play(game, 1, 1, 2) == Terminal((-0.5, -0.5, 1.0))


def test_random_prizes_are_uniform_over_those_left():
    game = Goofspiel(cards=3, prizes="random")
    assert play(game) == Chance({1: 1 / 3, 2: 1 / 3, 3: 1 / 3})
    assert play(game, 2, 1, 3) == Chance({1: 1 / 2, 3: 1 / 2})
    # 2 goes to player 1 (1 < 3), 3 to player 0 (3 > 1), and the 1 is tied.
    assert play(game, 2, 1, 3, 3, 3, 1) == Terminal((1.0, -1.0))


def test_labels():
    game = Goofspiel()
    assert play(game).infoset == "P0 4?"
    assert play(game, 1).infoset == "P1 4?"
    assert play(game, 1, 3, 2, 2) == Decision(0, "P0 4:1- 3:2= 2?", (3, 4))
    assert play(game, 1, 3, 2, 2, 3) == Decision(1, "P1 4:3+ 3:2= 2?", (1, 4))


def test_labels_with_perfect_information():
    game = Goofspiel(imperfect_information=False)
    assert play(game, 1, 3, 2, 2).infoset == "P0 4:1,3 3:2,2 2?"
    assert play(game, 1, 3, 2, 2, 3).infoset == "P1 4:1,3 3:2,2 2?"


def test_labels_of_three_players_name_the_winner():
    game = Goofspiel(cards=3, players=3)
    assert [play(game, 1, 2, 3, *more).infoset for more in ((), (2,), (2, 1))] == [
        "P0 3:1-2 2?",
        "P1 3:2-2 2?",
        "P2 3:3+ 2?",
    ]


@pytest.mark.parametrize("imperfect_information", [True, False])
@pytest.mark.parametrize("prizes", ["descending", "random"])
def test_perfect_recall_and_equal_actions(imperfect_information, prizes):
    game = Goofspiel(cards=4, prizes=prizes, imperfect_information=imperfect_information)
    seen = {}

    def walk(state, own):
        node = game.node(state)
        if isinstance(node, Decision):
            here = (node.player, node.actions, own[node.player])
            assert seen.setdefault(node.infoset, here) == here
        for action in choices(node):
            after = list(own)
            if isinstance(node, Decision):
                after[node.player] = (node.infoset, action)
            walk(game.next(state, action), after)

    walk(game.root(), [None] * game.n_players)


def test_one_decision_per_infoset():
    decisions = defaultdict(set)
    for _, node in histories(Goofspiel(cards=4)):
        if isinstance(node, Decision):
            decisions[node.infoset].add(id(node))
    assert all(len(same) == 1 for same in decisions.values())


def test_a_walked_game_can_be_pickled():
    game = Goofspiel(cards=3)
    before = counts(game)
    assert counts(pickle.loads(pickle.dumps(game))) == before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cards": 1}, "cards must be a whole number from 2 to 100, not 1"),
        ({"cards": 2.5}, "cards must be a whole number from 2 to 100, not 2.5"),
        ({"players": 1}, "players must be a whole number from 2 to 10, not 1"),
        ({"prizes": "shuffled"}, "prizes must be one of .*random, not 'shuffled'"),
        ({"payoff": "points"}, "payoff must be one of .*total_points, not 'points'"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        Goofspiel(**parameters)


@pytest.mark.openspiel
@pytest.mark.parametrize(
    ("parameters", "same_infosets"),
    [
        *[
            (
                {"cards": 3, "prizes": prizes, "payoff": payoff, "imperfect_information": hidden},
                True,
            )
            for prizes in ("descending", "ascending", "random")
            for payoff in ("win_loss", "point_difference", "total_points")
            for hidden in (True, False)
        ],
        ({"cards": 2}, True),
        ({"cards": 2, "prizes": "random"}, True),
        ({"cards": 4}, True),
        ({"cards": 4, "prizes": "random", "payoff": "point_difference"}, True),
        ({"cards": 3, "players": 3}, True),
        ({"cards": 3, "players": 3, "payoff": "point_difference", "prizes": "ascending"}, True),
        # OpenSpiel's labels forget the order of the cards here, so ours are finer.
        ({"cards": 4, "imperfect_information": False}, False),
    ],
    ids=str,
)
def test_equals_openspiel(parameters, same_infosets):
    compare_with_openspiel(parameters, same_infosets=same_infosets)


def compare_with_openspiel(parameters, *, same_infosets):
    """Walk both trees together; OpenSpiel's action is the card minus one."""
    pyspiel = pytest.importorskip("pyspiel")
    game = Goofspiel(**parameters)
    theirs = pyspiel.load_game(
        "turn_based_simultaneous_game(game=goofspiel("
        f"imp_info={game.imperfect_information},num_cards={game.cards},players={game.n_players},"
        f"points_order={game.prizes},returns_type={game.payoff}))"
    )
    their_label, our_labels = {}, defaultdict(set)

    def walk(state, spiel):
        node = game.node(state)
        if isinstance(node, Terminal):
            assert spiel.is_terminal()
            assert list(node.utilities) == pytest.approx(spiel.returns(), abs=1e-15)
            return
        if isinstance(node, Chance):
            expected = [(card - 1, p) for card, p in node.outcomes.items()]
            assert expected == spiel.chance_outcomes()
            assert math.fsum(node.outcomes.values()) == pytest.approx(1.0, abs=1e-15)
        else:
            assert node.player == spiel.current_player()
            assert [card - 1 for card in node.actions] == spiel.legal_actions()
            label = spiel.information_state_string()
            assert their_label.setdefault(node.infoset, label) == label
            our_labels[label].add(node.infoset)
        for card in choices(node):
            walk(game.next(state, card), spiel.child(card - 1))

    walk(game.root(), theirs.new_initial_state())
    assert all(len(ours) == 1 for ours in our_labels.values()) == same_infosets
