"""What is read, written and computed, against what pygambit said of it once.

The answers are in ``tests/data/gambit_answers.json``; ``scripts/gambit_answers.py`` writes the file
and compares it with pygambit.  Tests that talk to pygambit itself are in ``test_pygambit.py``.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from support.equality import as_game
from support.imported_games import ANSWERS, PYGAMBIT, TextGame
from support.reference import ChanceNode, DecisionNode, Infoset, TerminalNode, Tree, build_tree
from tensorcfr import CompiledGame, Game, Policy, compile_game, evaluate
from tensorcfr.errors import ImperfectRecallError, MissingExtraError
from tensorcfr.formats import (
    find_policy,
    from_gambit,
    policy_to_gambit,
    save_efg,
    save_nfg,
    to_gambit,
)
from tensorcfr.games import make_game


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --------------------------------------------------------------------------------------- games


def test_what_the_catalog_has() -> None:
    # Source: pygambit 16.7.0 ships 38 games, 32 trees, 5 of them without perfect recall.
    catalog = ANSWERS["catalog"].values()
    assert len(catalog) == 38
    assert sum(said["kind"] == "efg" for said in catalog) == 32
    assert sum(not said["perfect_recall"] for said in catalog) == 5


@pytest.mark.parametrize("name", ANSWERS["catalog"])
def test_gambits_own_games(name: str, tmp_path: Path) -> None:
    """Recall, expected values under uniform play, and the same of what is written of the game."""
    said = ANSWERS["catalog"][name]
    theirs = TextGame(name, said["kind"], said["text"])
    if not said["perfect_recall"]:
        with pytest.raises(ImperfectRecallError):
            compile_game(theirs)
        return
    game = compile_game(theirs)
    assert game.name == name
    values = evaluate(game, Policy.uniform(game)).values
    assert values == pytest.approx(said["uniform"], rel=1e-12, abs=1e-12)
    path = save_efg(game, tmp_path / "game.efg")
    assert digest(path) == said["written"]["sha256"]
    assert values == pytest.approx(said["written"]["uniform"], rel=1e-12, abs=1e-12)


def test_a_game_without_a_title() -> None:
    text = 'EFG 2 R "" { "a" } p "" 1 1 "I" { "x" "y" } 0 t "" 0 t "" 0'
    assert compile_game(TextGame("", "efg", text)).name == "pygambit"


@pytest.mark.parametrize("name", ANSWERS["trees"])
def test_gambit_reads_what_is_written(name: str, tmp_path: Path) -> None:
    """The text is the one that pygambit was given, and what it says of it is so."""
    said, game = ANSWERS["trees"][name], compile_game(name)
    path = save_efg(game, tmp_path / "game.efg")
    assert digest(path) == said["sha256"]
    for answer in said["policies"].values():
        policy = recorded_policy(game, answer)
        for tree in (game, compile_game(path)):
            found = evaluate(tree, policy.to_dict()).values
            assert found == pytest.approx(answer["values"], abs=1e-12)


def recorded_policy(game: CompiledGame, answer: dict[str, Any]) -> Policy:
    """The policy that pygambit was asked about."""
    if "infosets" not in answer:
        return Policy.uniform(game)
    given = {
        label: {action: probability for action, (probability, _) in said["actions"].items()}
        for label, said in answer["infosets"].items()
    }
    return Policy.from_mapping(game, given)


@pytest.mark.parametrize("name", ANSWERS["tables"])
def test_gambit_reads_normal_forms(name: str, tmp_path: Path) -> None:
    said, game = ANSWERS["tables"][name], compile_game(name)
    path = save_nfg(game, tmp_path / "game.nfg", outcomes=said["outcomes"])
    assert digest(path) == said["sha256"]
    table = compile_game(path)
    assert [list(own) for own in said["strategies"]] == [list(a) for a in table.infoset_actions]
    mixed = dict(zip(table.infoset_labels, said["strategies"], strict=True))
    assert evaluate(table, mixed).values == pytest.approx(said["values"], abs=1e-12)


# ------------------------------------------------------------------------------------ profiles
#
# The objects of pygambit that hold a profile, with the attributes that are used.  As there, every
# access to a player or to a list makes new objects, which are equal and not the same; infosets are
# numbered player by player.


@dataclass(frozen=True)
class Player:
    number: int
    is_chance: bool = False


@dataclass(frozen=True)
class Action:
    label: str
    place: tuple[int, int, int]


@dataclass(frozen=True)
class TheirInfoset:
    label: str
    number: int
    actions: tuple[Action, ...]


@dataclass
class TheirNode:
    tree: TheirTree
    ours: Any

    @property
    def is_terminal(self) -> bool:
        return isinstance(self.ours, TerminalNode)

    @property
    def children(self) -> Iterator[TheirNode]:
        return (TheirNode(self.tree, child) for child in self.ours.children)

    @property
    def player(self) -> Player:
        if isinstance(self.ours, ChanceNode):
            return Player(0, is_chance=True)
        assert isinstance(self.ours, DecisionNode)
        return Player(self.ours.infoset.player)

    @property
    def infoset(self) -> TheirInfoset:
        return self.tree.infosets[self.ours.infoset.label]


class TheirTree:
    """A game of the slow reference, as pygambit shows it."""

    is_tree = True

    def __init__(self, tree: Tree, title: str = "theirs") -> None:
        self.title, self._tree = title, tree
        self.infosets = {
            one.label: self._infoset(one, number)
            for player in range(tree.n_players)
            for number, one in enumerate(tree.infosets_of(player))
        }

    def _infoset(self, one: Infoset, number: int) -> TheirInfoset:
        # Labels need not agree.
        actions = tuple(
            Action(f"{one.label} {action}", (one.player, number, place))
            for place, action in enumerate(one.actions)
        )
        return TheirInfoset(one.label, number, actions)

    @property
    def root(self) -> TheirNode:
        return TheirNode(self, self._tree.root)

    @property
    def players(self) -> list[Player]:
        return [Player(number) for number in range(self._tree.n_players)]

    def mixed_behavior_profile(self, rational: bool = False) -> Profile:
        return Profile(self, Fraction if rational else float)


@dataclass
class Profile:
    game: TheirTree
    number: Any
    given: dict[Action, Any] = field(default_factory=dict)

    def mixed_behaviors(self) -> None:
        raise AssertionError("only asked whether it is there")

    def __setitem__(self, action: Action, probability: float) -> None:
        self.given[action] = self.number(probability)

    def __getitem__(self, action: Action) -> Any:
        return self.given[action]


Profile.__module__ = PYGAMBIT


@cache
def their_tree(name: str) -> TheirTree:
    return TheirTree(build_tree(as_game(make_game(name))))


def random_policy(game: CompiledGame, seed: int) -> Policy:
    rng = np.random.default_rng(seed)
    given = {}
    for label, actions in zip(game.infoset_labels, game.infoset_actions, strict=True):
        given[label] = dict(zip(actions, rng.dirichlet(np.ones(len(actions))), strict=True))
    return Policy.from_mapping(game, given)


NAMES = ["kuhn", "kuhn(players=3)", "goofspiel(cards=3)", "chicken"]


@pytest.mark.parametrize("rational", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_profiles(name: str, rational: bool) -> None:
    """Every action has its probability there, and comes back with it."""
    game, theirs = compile_game(name), their_tree(name)
    policy = random_policy(game, 1)
    profile = policy_to_gambit(policy, theirs)
    for label, infoset in theirs.infosets.items():
        found = {one.label: profile[one] for one in infoset.actions}
        assert found == {f"{label} {action}": p for action, p in policy[label].items()}
    if rational:
        profile = theirs.mixed_behavior_profile(rational=True)
        for infoset in theirs.infosets.values():
            for one, probability in zip(infoset.actions, policy[infoset.label], strict=True):
                profile[one] = policy[infoset.label][probability]
    assert dict(from_gambit(game, profile)) == dict(policy)
    assert dict(find_policy(game, profile)) == dict(policy)


def test_what_is_no_profile_of_the_game() -> None:
    game, theirs = compile_game("kuhn"), their_tree("kuhn")
    with pytest.raises(ValueError, match="kuhn and theirs are not the same game: at the root"):
        policy_to_gambit(Policy.uniform(game), their_tree("kuhn(players=3)"))
    with pytest.raises(ValueError, match="the policy must be a mixed behaviour profile"):
        from_gambit(game, object())
    for wrong in ((0.5, 0.6), (-0.5, 1.5), (float("nan"), 1.0)):
        profile = policy_to_gambit(Policy.uniform(game), theirs)
        for action, probability in zip(theirs.infosets["Qb"].actions, wrong, strict=True):
            profile[action] = probability
        with pytest.raises(ValueError, match="has no distribution at 'Qb': "):
            from_gambit(game, profile)


def test_infosets_that_are_joined_or_split() -> None:
    """Trees of one shape whose players know other things are not the same game."""

    class Blind(Game):
        """Player 1 sees what player 0 did, or not."""

        name, n_players = "blind", 2

        def __init__(self, sees: bool) -> None:
            self.sees, self._rules = sees, as_game(make_game("chicken"))

        def root(self) -> Any:
            return self._rules.root()

        def node(self, state: Any) -> Any:
            said = self._rules.node(state)
            if self.sees and getattr(said, "player", 0) == 1:
                return said._replace(infoset=f"{said.infoset} {state}")
            return said

        def next(self, state: Any, action: Any) -> Any:
            return self._rules.next(state, action)

    for ours, other in ((True, False), (False, True)):
        game, theirs = compile_game(Blind(ours)), TheirTree(build_tree(Blind(other)))
        with pytest.raises(ValueError, match=r"blind and theirs have different infosets: .* at hi"):
            policy_to_gambit(Policy.uniform(game), theirs)


def test_pygambit_is_given_the_text_of_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[bytes] = []

    def read_efg(file: Any) -> TheirTree:
        given.append(file.read())
        return their_tree("kuhn")

    module = ModuleType("pygambit")
    module.read_efg = read_efg  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pygambit", module)
    game = compile_game("kuhn")
    assert to_gambit(game) is their_tree("kuhn")
    policy = random_policy(game, 2)
    assert dict(from_gambit(game, policy_to_gambit(policy))) == dict(policy)
    assert given == [save_efg(game, tmp_path / "game.efg").read_bytes()] * 2


def test_without_pygambit_the_error_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygambit", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tensorcfr\[gambit\]'"):
        to_gambit(compile_game("kuhn"))
