"""pygambit itself: its games, and profiles to and from it.

It has no wheels, so most machines do without it; ``test_gambit_answers.py`` compares with what it
said once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorcfr import Policy, compile_game, evaluate
from tensorcfr.errors import ImperfectRecallError
from tensorcfr.formats import find_policy, from_gambit, policy_to_gambit, save_efg, to_gambit
from tensorcfr.formats.efg import parse_efg
from tensorcfr.formats.nfg import parse_nfg

pygambit: Any = pytest.importorskip("pygambit")
pytestmark = [pytest.mark.gambit, pytest.mark.filterwarnings("ignore")]

ANSWERS = Path(__file__).parents[1] / "data" / "gambit_answers.json"


def test_its_games_are_those_that_are_recorded() -> None:
    """Its objects are read, titles and descriptions included."""
    pytest.importorskip("pandas")
    catalog = json.loads(ANSWERS.read_text("utf-8"))["catalog"]
    assert catalog
    for name, said in catalog.items():
        theirs = pygambit.catalog.load(name)
        if not said["perfect_recall"]:
            with pytest.raises(ImperfectRecallError):
                compile_game(theirs)
            continue
        game = compile_game(theirs)
        assert game.name == theirs.title
        parse = parse_efg if said["kind"] == "efg" else parse_nfg
        assert game.digest == compile_game(parse(said["text"])).digest


@pytest.mark.parametrize("name", ["kuhn", "leduc", "kuhn(players=3)", "chicken"])
def test_games_there_and_back(name: str) -> None:
    game = compile_game(name)
    theirs = to_gambit(game)
    again = compile_game(theirs)
    assert sorted(again.infoset_labels) == sorted(game.infoset_labels)
    profile = theirs.mixed_behavior_profile()
    expected = [float(profile.payoff(player)) for player in theirs.players]
    assert evaluate(again, Policy.uniform(again)).values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["kuhn", "kuhn(players=3)", "goofspiel(cards=3)", "chicken"])
def test_profiles(name: str, tmp_path: Path) -> None:
    game = compile_game(name)
    rng = np.random.default_rng(0)
    rows = zip(game.infoset_labels, game.infoset_actions, strict=True)
    given = {la: dict(zip(a, rng.dirichlet(np.ones(len(a))), strict=True)) for la, a in rows}
    policy = Policy.from_mapping(game, given)
    profile = policy_to_gambit(policy)
    values = [float(profile.payoff(player)) for player in profile.game.players]
    assert evaluate(game, policy).values == pytest.approx(values, abs=1e-12)
    back = find_policy(game, profile)
    np.testing.assert_allclose(back.probabilities, policy.probabilities, rtol=1e-15)
    theirs = pygambit.read_efg(save_efg(game, tmp_path / "game.efg"))
    again = from_gambit(compile_game(theirs), policy_to_gambit(policy, theirs))
    assert evaluate(again.game, again).values == pytest.approx(values, abs=1e-12)


def test_rational_profiles() -> None:
    game = compile_game("kuhn")
    theirs = to_gambit(game)
    policy = from_gambit(game, theirs.mixed_behavior_profile(rational=True))
    assert dict(policy) == dict(Policy.uniform(game))
