"""Log of the trainer: plays and the costs of their decisions, in a file over all sessions."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime
from os import SEEK_END
from pathlib import Path
from typing import Any

from ..hands.played_hands import BOARD_CARDS, STREETS

FILE = "training.jsonl"
"""Name of the log in the user's folder; each line is a play as JSON."""
SESSIONS = 8
"""Largest number of sessions that are listed, the latest ones."""
WORST = 5
"""Largest number of decisions that are listed, the most expensive ones."""
STREETS_BY_CARDS = dict(zip(BOARD_CARDS, STREETS, strict=True))
"""Streets by the number of cards on the board."""


class TrainingLog:
    """Plays of the user against solutions.

    A play is a mapping with ``session``, ``when``, ``game``, ``digest``, ``hand``, ``unit``,
    ``won`` and ``decisions``. A decision has ``line``, ``hand``, ``action``, ``best``, ``cost``,
    ``share``, its cost as a share of the pot at the start or None, ``right`` and ``cards``, the
    number of cards on the board.

    Args:
        folder: Folder of the file, which is made when the first play is saved; None if nothing is
            saved.
    """

    def __init__(self, folder: Path | None) -> None:
        self.path = None if folder is None else folder / FILE
        self.session = secrets.token_hex(8)
        """Name of this session."""
        self.problem: str | None = None
        """Reason for which plays are not saved, or lines of the file are not counted."""
        self._plays: list[dict[str, Any]] = []
        self._statistics: dict[str, dict[str, Any]] = {}
        """Results of :meth:`statistics` since the last play, by digest."""
        if self.path is None:
            self.problem = "not saved: this viewer has no folder to save in"
        else:
            self._read(self.path)

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return
        except (OSError, UnicodeDecodeError) as error:
            self.problem = f"{path} cannot be read: {error}"
            return
        for line in lines:
            try:
                play = json.loads(line)
                _sums([play])
                _ = play["session"], play["when"], play["game"], play["digest"]
            except (KeyError, TypeError, ValueError):
                self.problem = f"{path} has a line that is not a play of the trainer"
            else:
                self._plays.append(play)

    def add(self, play: dict[str, Any]) -> None:
        """Add a play of this session, and append it to the file."""
        stamped = {"session": self.session, "when": datetime.now().isoformat(timespec="seconds")}
        self._plays.append(stamped | play)
        self._statistics.clear()
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            line = json.dumps(self._plays[-1], ensure_ascii=False).encode() + b"\n"
            with self.path.open("ab+") as file:
                if file.tell():
                    file.seek(-1, SEEK_END)
                    # A line that was cut off stays, on a line of its own.
                    line = line if file.read() == b"\n" else b"\n" + line
                file.write(line)
        except OSError as error:
            self.problem = f"not saved: {error}"

    def statistics(self, digest: str) -> dict[str, Any]:
        """Return sums over this session, a game, and all plays."""
        if digest not in self._statistics:
            self._statistics[digest] = self._compute(digest)
        return self._statistics[digest] | {"problem": self.problem}

    def _compute(self, digest: str) -> dict[str, Any]:
        """Compute :meth:`statistics` from all plays."""
        of_game = [play for play in self._plays if play["digest"] == digest]
        session = [play for play in self._plays if play["session"] == self.session]
        decisions = [decision for play in of_game for decision in play["decisions"]]
        streets = {
            street: _totals([taken for taken in decisions if taken.get("cards") == cards])
            for cards, street in STREETS_BY_CARDS.items()
        }
        worst = sorted(decisions, key=lambda decision: -decision["cost"])[:WORST]
        return {
            "file": None if self.path is None else str(self.path),
            "sums": {
                "this session": _sums(session),
                "this game": _sums(of_game),
                "all": _sums(self._plays),
            },
            "streets": {name: sums for name, sums in streets.items() if sums["decisions"]},
            "sessions": self._sessions(),
            "worst": [decision for decision in worst if not decision["right"]],
        }

    def _sessions(self) -> list[dict[str, Any]]:
        """Return the latest sessions, the last one first."""
        by_session = dict[tuple[str, str], list[dict[str, Any]]]()
        for play in self._plays:
            by_session.setdefault((play["session"], play["digest"]), []).append(play)
        return [
            {"when": plays[0]["when"], "game": plays[0]["game"], **_sums(plays)}
            for plays in list(by_session.values())[: -SESSIONS - 1 : -1]
        ]


def _sums(plays: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the number of plays, and the sums over their decisions."""
    decisions = [decision for play in plays for decision in play["decisions"]]
    return {"plays": len(plays), **_totals(decisions)}


def _totals(decisions: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return counts of decisions and of right ones, and the mean cost as a share of the pot."""
    each = [(bool(taken["right"]), float(taken["cost"]), taken["share"]) for taken in decisions]
    shares = [float(share) for _, _, share in each if share is not None]
    return {
        "decisions": len(each),
        "right": sum(right for right, _, _ in each),
        "share": sum(shares) / len(shares) if shares else None,
    }
