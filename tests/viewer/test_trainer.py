"""The trainer and its log: plays against a solution, costs, sums over sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tensorcfr import Solution, compile_game, solve
from tensorcfr.analysis import values
from tensorcfr.viewer.session import Session
from tensorcfr.viewer.trainer import Trainer
from tensorcfr.viewer.training_log import FILE, TrainingLog


@pytest.fixture(scope="module")
def leduc() -> Solution:
    return solve(compile_game("leduc"), iters=30)


def trainer_of(session: Session, folder: Path) -> Trainer:
    """The trainer of a session that saves in a folder."""
    session.folder = folder
    return session.trainer


def finished(trainer: Trainer, **begin: Any) -> dict[str, Any]:
    """The play after the user has always taken the last action."""
    play = trainer.deal(begin.get("solution", 0), begin.get("seat"), begin.get("node", 0))["play"]
    while not play["over"]:
        play = trainer.act(play["actions"][-1])["play"]
    return dict(play)


def label_of(decision: dict[str, Any], hand: str) -> str:
    """The label of an infoset of Leduc."""
    steps = [] if decision["line"] == "start" else decision["line"].split()
    short = "".join(f"/{step} " if step[0] in "JQK" else step[0] for step in steps).strip()
    return f"{hand} {short}".strip()


def test_every_decision_has_its_cost(leduc: Solution, tmp_path: Path) -> None:
    trainer = trainer_of(Session(leduc), tmp_path)
    table = values(leduc.game, leduc).table().to_dict()
    count, right = 0, 0
    for number in range(6):
        play = finished(trainer)
        assert play["seat"] == number % 2  # Both seats in turn.
        for decision in play["decisions"]:
            row = table[label_of(decision, play["hand"])]
            worth = [row[action]["expected_value"] for action in decision["actions"]]
            cost = max(worth) - row[decision["action"]]["expected_value"]
            assert decision["cost"] == pytest.approx(cost, abs=1e-12)
            assert decision["q"] == pytest.approx(worth, abs=1e-12)
            assert decision["right"] == (cost <= leduc.exploitability)
            count, right = count + 1, right + decision["right"]
        labels = [step["label"] for step in play["steps"]]
        node = leduc.game.nodes.find_node(" ".join(labels))
        pair = [
            leduc.game.nodes.hands[k].index(play[name])
            for k, name in enumerate(
                ("hand", "opponent") if play["seat"] == 0 else ("opponent", "hand")
            )
        ]
        factor, key = leduc.game.nodes.payoff(node)
        paid = factor * leduc.game.nodes.matrix(key)[play["seat"], pair[0], pair[1]]
        assert play["won"] == pytest.approx(paid, abs=1e-12)
    sums = trainer.state()["statistics"]["sums"]
    for name in ("this session", "this game", "all"):
        assert sums[name] == {"plays": 6, "decisions": count, "right": right, "share": None}


def test_plays_begin_at_a_node(leduc: Solution, tmp_path: Path) -> None:
    trainer, nodes = trainer_of(Session(leduc), tmp_path), leduc.game.nodes
    play = trainer.deal(0, 0, nodes.find_node("raise raise"))["play"]
    assert [step["label"] for step in play["steps"]] == ["raise", "raise"]
    assert [step["player"] for step in play["steps"]] == [0, 1]
    assert play["begin"] == 2
    assert play["opponent"] is None
    assert list(play["actions"]) == ["fold", "call"]


def test_a_log_over_sessions(tmp_path: Path) -> None:
    """Sums of plays written by hand."""

    def play(digest: str, *decisions: tuple[float, float | None, bool, int]) -> dict[str, Any]:
        return {
            "game": f"game {digest}",
            "digest": digest,
            "hand": "AsKs",
            "unit": "chips",
            "won": 1.0,
            "decisions": [
                {
                    "line": "start",
                    "hand": "AsKs",
                    "action": "bet",
                    "best": "check",
                    "cost": cost,
                    "share": share,
                    "right": right,
                    "cards": cards,
                }
                for cost, share, right, cards in decisions
            ],
        }

    first = TrainingLog(tmp_path)
    first.add(play("a", (1.0, 0.1, False, 3), (0.0, 0.0, True, 4)))
    first.add(play("b", (5.0, None, False, 0)))
    with (tmp_path / FILE).open("a") as file:
        file.write('{"torn": ')
    second = TrainingLog(tmp_path)
    assert "has a line" in str(second.problem)
    second.add(play("a", (3.0, 0.3, False, 3)))
    told = second.statistics("a")
    assert told["sums"] == {
        "this session": {"plays": 1, "decisions": 1, "right": 0, "share": pytest.approx(0.3)},
        "this game": {"plays": 2, "decisions": 3, "right": 1, "share": pytest.approx(0.4 / 3)},
        "all": {"plays": 3, "decisions": 4, "right": 1, "share": pytest.approx(0.4 / 3)},
    }
    assert told["streets"] == {
        "flop": {"decisions": 2, "right": 0, "share": pytest.approx(0.2)},
        "turn": {"decisions": 1, "right": 1, "share": 0.0},
    }
    assert [one["cost"] for one in told["worst"]] == [3.0, 1.0]
    # Sums are computed once after each play.
    assert second.statistics("a")["sums"] is told["sums"]
    assert second.statistics("b")["sums"]["this game"]["plays"] == 1
    assert [(one["game"], one["plays"]) for one in told["sessions"]] == [
        ("game a", 1),
        ("game b", 1),
        ("game a", 1),
    ]
    # What was torn stays, and what comes after it is on a line of its own.
    assert json.loads((tmp_path / FILE).read_text().splitlines()[-1])["decisions"][0]["cost"] == 3.0
    assert len(TrainingLog(tmp_path).statistics("a")["sessions"]) == 3


def test_refusals(leduc: Solution, tmp_path: Path) -> None:
    trainer = trainer_of(Session(leduc), tmp_path / "file" / "below")
    (tmp_path / "file").write_text("")
    assert trainer.state()["play"] is None
    with pytest.raises(ValueError, match="no play has begun"):
        trainer.act("call")
    for arguments, message in (
        ((1, 0, 0), "no solution 1"),
        ((0, 2, 0), "seat must be"),
        ((0, 0, 10_000), "no public node"),
    ):
        with pytest.raises(ValueError, match=message):
            trainer.deal(*arguments)
    with pytest.raises(TypeError, match="whole numbers"):
        trainer.deal(0, 0, "x")
    finished(trainer)
    assert "not saved" in trainer.state()["statistics"]["problem"]
    with pytest.raises(ValueError, match="the play is over"):
        trainer.act("jump")
    for game, message in (
        ("goofspiel(cards=3)", "two players"),
        ("kuhn(players=3)", "two players"),
    ):
        session = Session(solve(compile_game(game), iters=2))
        with pytest.raises(ValueError, match=message):
            trainer_of(session, tmp_path).deal(0, 0, session.nodes.root)
    with pytest.raises(ValueError, match="has no iterations"):
        trainer_of(Session(solve(leduc.game, iters=0)), tmp_path).deal(0, 0, 0)
