"""Reader of games of LiteEFG (M. Liu, G. Farina, A. Ozdaglar, 2024), as files and as objects.

A file lists the nodes of a tree, and then the nodes of each infoset.  There are two forms: in
``.game`` files a node's name is its history, and actions have labels; in ``.openspiel`` files,
which LiteEFG writes for games of OpenSpiel, a node lists the names of its children:

    # num_players: 2,
    node / chance actions heads=0.5 tails=0.5
    node /C:heads player 1 actions stop go
    node /C:heads/P1:stop leaf payoffs 1=1 2=-1
    infoset first nodes /C:heads /C:tails
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..errors import FormatError
from ..rules import Chance, Decision, Game, Terminal
from .efg import EfgGame
from .gambit_text import decoded, distinct
from .openspiel import OpenSpielGame

CHILDREN_LISTED = "openspiel,"
"""Word in the header of files whose nodes list their children."""
PLAYERS = ("num_players:", "players:")
LARGEST_ERROR = 1e-4
"""Largest distance of a sum of probabilities from 1; files have eight decimal places."""
_PAIR = re.compile(r"(?P<name>.+)=(?P<number>[^=]+)")


def read_liteefg(path: str | Path) -> EfgGame:
    """Read the game in a ``.game`` or ``.openspiel`` file of LiteEFG.

    Raises:
        FormatError: The file is not in the format; names file, line and column.
        OSError: The file cannot be read.
    """
    return parse_liteefg(decoded(Path(path).read_bytes(), path), str(path))


def rules_of_liteefg(environment: Any) -> Game:
    """Return the rules of an environment of LiteEFG that was made from a game of OpenSpiel.

    Raises:
        TypeError: It was made from a file, which LiteEFG does not give out.
    """
    game = getattr(environment, "game", None)
    if game is None:
        raise TypeError(
            f"{type(environment).__name__} of LiteEFG does not give out its tree: read its file, "
            "compile_game('NAME.game')"
        )
    return OpenSpielGame(game)


def parse_liteefg(text: str, source: str = "liteefg") -> EfgGame:
    """Read the game in a text of LiteEFG.

    The sum of chance probabilities may differ from 1 by 1e-4, and they are divided by it, as
    LiteEFG does.  Nodes that no infoset names are infosets of their own.  Actions of files that
    list children are numbers.

    Args:
        text: The text.
        source: Name of the text in errors.

    Raises:
        FormatError: The text is not in the format; names the line.
    """
    return _Reader(text, source).game()


class _Reader:
    """Reader of the lines of a text.

    Args:
        text: The text.
        source: Name of the text in errors.
    """

    def __init__(self, text: str, source: str) -> None:
        self.source, self.lines = source, text.splitlines()
        self.n_players, self.lists_children = 0, False
        self.names: dict[str, int] = {}
        """Number of each node."""
        self.name_of: list[str] = []
        self.line_of: list[int] = []
        self.nodes: list[Decision | Chance | Terminal] = []
        self.listed: list[list[str]] = []
        """Labels of the actions or outcomes of each node, or names of its children."""
        self.infosets: list[tuple[str, list[int]]] = []

    def fail(self, problem: str, line: int) -> NoReturn:
        """Refuse the text; names a line."""
        raise FormatError(self.source, line, 1, problem)

    def game(self) -> EfgGame:
        """Return the game, after all lines are read."""
        for number, line in enumerate(self.lines, start=1):
            words = line.split()
            if not words:
                continue
            if words[0].startswith("#"):
                self._read_header(words[1:], number)
            elif words[0] == "node":
                self._read_node(words[1:], number)
            elif words[0] == "infoset":
                self._read_infoset(words[1:], number)
            else:
                self.fail(f"a line begins with node or infoset, not {words[0][:40]!r}", number)
        if not self.nodes:
            self.fail("there is no node", len(self.lines) or 1)
        children = [self._children(number) for number in range(len(self.nodes))]
        root = self._root(children)
        self._label_infosets()
        # The game begins with node 0.
        order = [root, *(n for n in range(len(self.nodes)) if n != root)]
        place = np.argsort(order)
        return EfgGame(
            title=Path(self.source).stem,
            players=[f"player {player + 1}" for player in range(self.n_players)],
            kinds=list(range(len(order))),
            children=[[int(place[child]) for child in children[n]] for n in order],
            nodes=[self.nodes[n] for n in order],
        )

    def _read_header(self, words: Sequence[str], line: int) -> None:
        self.lists_children |= CHILDREN_LISTED in words[:1]
        if words and words[0] in PLAYERS:
            count = words[1].rstrip(",") if len(words) > 1 else ""
            if not count.isdecimal() or not 1 <= int(count) <= 100:
                self.fail("the number of players must be from 1 to 100", line)
            self.n_players = int(count)

    def _read_node(self, words: Sequence[str], line: int) -> None:
        if not self.n_players:
            self.fail("the header does not have the number of players, '# num_players: 2,'", line)
        name, kind, *rest = [*words, "", ""][: max(len(words), 2)]
        if name in self.names:
            self.fail(f"node {name[:60]!r} is there twice", line)
        self.names[name] = len(self.nodes)
        self.name_of.append(name)
        self.line_of.append(line)
        node: Decision | Chance | Terminal
        labels: list[str] = []
        if kind == "chance" and rest[:1] == ["actions"]:
            labels, numbers = self._pairs(rest[1:], line)
            node = Chance(dict(zip(labels, self._probabilities(numbers, line), strict=True)))
        elif kind == "player" and rest[1:2] == ["actions"]:
            labels = list(rest[2:])
            node = Decision(self._player(rest[0], line), name, tuple(labels))
        elif kind == "leaf" and rest[:1] == ["payoffs"]:
            players, payoffs = self._pairs(rest[1:], line)
            if len(set(players)) != len(players):
                self.fail(f"node {name[:60]!r} pays a player twice", line)
            utilities = [0.0] * self.n_players
            for player, payoff in zip(players, payoffs, strict=True):
                utilities[self._player(player, line)] = payoff
            node = Terminal(tuple(utilities))
        else:
            self.fail("a node is 'chance actions', 'player N actions' or 'leaf payoffs'", line)
        if not isinstance(node, Terminal) and not labels:
            self.fail(f"node {name[:60]!r} has no actions", line)
        if len(set(labels)) != len(labels):
            self.fail(f"node {name[:60]!r} has the same action twice", line)
        if self.lists_children:
            numbered = tuple(map(str, range(len(labels))))
            if isinstance(node, Decision):
                node = node._replace(actions=numbered)
            elif isinstance(node, Chance):
                node = Chance(dict(zip(numbered, node.outcomes.values(), strict=True)))
        self.nodes.append(node)
        self.listed.append(labels)

    def _player(self, word: str, line: int) -> int:
        if not word.isdecimal() or not 1 <= int(word) <= self.n_players:
            self.fail(f"players are 1 to {self.n_players}, not {word[:20]!r}", line)
        return int(word) - 1

    def _pairs(self, words: Sequence[str], line: int) -> tuple[list[str], list[float]]:
        """Read words such as ``heads=0.5``."""
        names, numbers = [], []
        for word in words:
            match = _PAIR.fullmatch(word)
            try:
                number = float(match["number"]) if match else np.nan
            except ValueError:
                number = np.nan
            if not match or not np.isfinite(number):
                self.fail(f"{word[:60]!r} must be a name, '=' and a number", line)
            names.append(match["name"])
            numbers.append(number)
        return names, numbers

    def _probabilities(self, numbers: Sequence[float], line: int) -> list[float]:
        total = sum(numbers)
        if min(numbers, default=0.0) < 0.0 or abs(total - 1.0) > LARGEST_ERROR:
            self.fail(f"the probabilities sum to {total:g}, not to 1", line)
        return [number / total for number in numbers]

    def _read_infoset(self, words: Sequence[str], line: int) -> None:
        if len(words) < 3 or words[1] != "nodes":
            self.fail("an infoset is 'infoset NAME nodes NODE NODE ...'", line)
        members = []
        for name in words[2:]:
            number = self.names.get(name)
            if number is None or not isinstance(self.nodes[number], Decision):
                self.fail(f"infoset {words[0][:60]!r}: {name[:60]!r} is not a decision", line)
            members.append(number)
        first = self.nodes[members[0]]
        for number in members:
            node = self.nodes[number]
            if node[0] != first[0] or node[2:] != first[2:]:
                self.fail(
                    f"infoset {words[0][:60]!r}: its nodes have different players or actions", line
                )
        self.infosets.append((words[0], members))

    def _label_infosets(self) -> None:
        """Give decisions the labels of their infosets."""
        owned = {member for _, members in self.infosets for member in members}
        if len(owned) != sum(len(members) for _, members in self.infosets):
            self.fail("a node is in two infosets", len(self.lines))
        alone = [
            (name, [n])
            for name, n in self.names.items()
            if n not in owned and isinstance(self.nodes[n], Decision)
        ]
        infosets = self.infosets + alone
        for label, (_, members) in zip(distinct([n for n, _ in infosets]), infosets, strict=True):
            for member in members:
                decision: Any = self.nodes[member]
                self.nodes[member] = decision._replace(infoset=label)

    def _children(self, number: int) -> list[int]:
        """Return the numbers of the nodes after a node."""
        node, line, name = self.nodes[number], self.line_of[number], self.name_of[number]
        children = []
        for label in self.listed[number]:
            child = label
            if not self.lists_children:
                mover = f"P{node.player + 1}" if isinstance(node, Decision) else "C"
                child = f"{name.removesuffix('/')}/{mover}:{label}"
            if child not in self.names:
                self.fail(f"node {name[:60]!r}: there is no node {child[:80]!r}", line)
            children.append(self.names[child])
        return children

    def _root(self, children: Sequence[Sequence[int]]) -> int:
        """Return the node that no node leads to, from which all others must be reached."""
        parents = np.bincount(
            [child for below in children for child in below], minlength=len(self.nodes)
        )
        roots = np.flatnonzero(parents == 0)
        if len(roots) != 1 or parents.max() > 1:
            line = self.line_of[int(roots[1]) if len(roots) > 1 else int(parents.argmax())]
            self.fail("the nodes are not one tree", line)
        reached = [int(roots[0])]
        for number in reached:
            reached += children[number]
        if len(reached) < len(self.nodes):
            # Each of the others has a parent, so that they are cycles.
            number = min(set(range(len(self.nodes))) - set(reached))
            name = self.name_of[number][:60]
            self.fail(f"node {name!r} is not reached from the root", self.line_of[number])
        return reached[0]
