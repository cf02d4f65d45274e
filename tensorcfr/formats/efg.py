"""Extensive-form games in Gambit's ``.efg`` format: read and written."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np

from .._util.files import replacing
from .._util.limits import CHANCE_TOLERANCE
from ..model.arrays import CHANCE, TERMINAL
from ..model.flat_game import FlatGame
from ..rules import Chance, Decision, Game, Terminal
from .gambit_text import END, TEXT, WORD, Tokens, decimal, decoded, distinct, quoted


class EfgGame(Game):
    """A game that was read from a ``.efg`` text; a state is the number of a node, in file order.

    Infosets are labelled by their names.  An infoset without a name is labelled ``"P0:3"``
    (player 0, infoset number 3 of the file), and one whose name another infoset has too
    ``"name (P0:3)"``.  Actions without a name, or with the name of another action, get numbers.
    """

    def __init__(
        self,
        *,
        title: str,
        players: Sequence[str],
        kinds: list[int],
        children: list[list[int]],
        nodes: list[Decision | Chance | Terminal],
    ) -> None:
        self.title = title
        """The title in the file."""
        self.players = tuple(players)
        """The players' names."""
        self.n_players = len(players)
        self._kinds = kinds
        self._children = children
        self._nodes = nodes
        self._moves = [_moves(node) for node in nodes]

    @property
    def name(self) -> str:
        """The title."""
        return self.title

    def root(self) -> int:
        """The first node of the file."""
        return 0

    def node(self, state: int) -> Decision | Chance | Terminal:
        """What is at a node."""
        return self._nodes[self._kinds[state]]

    def next(self, state: int, action: str) -> int:
        """The node after an action or a chance outcome."""
        return self._children[state][self._moves[self._kinds[state]][action]]


def _moves(node: Decision | Chance | Terminal) -> dict[str, int]:
    """Which child each action or outcome leads to."""
    if isinstance(node, Terminal):
        return {}
    listed = node.actions if isinstance(node, Decision) else node.outcomes
    return {str(action): index for index, action in enumerate(listed)}


def read_efg(path: str | Path) -> EfgGame:
    """The game in a ``.efg`` file.

    Raises:
        FormatError: The file is not in the format; names file, line and column.
        OSError: The file cannot be read.
    """
    return parse_efg(decoded(Path(path).read_bytes(), path), str(path))


def parse_efg(text: str, source: str = "efg") -> EfgGame:
    """The game in a text in the ``.efg`` format.

    Payoffs on the way to a terminal are added up, as exact fractions, before they become float64.
    Perfect recall is checked when the game is compiled, as for every game.

    Args:
        text: The text.
        source: What error messages call it.

    Raises:
        FormatError: The text is not in the format; names line and column.
    """
    return _Parser(Tokens(text, source)).game()


@dataclass
class _Infoset:
    """An infoset of a player, or a chance node's distribution, as the file describes it."""

    number: int
    """Its number in the file."""
    kind: int
    """Where its node is in the list of nodes."""
    name: str
    actions: list[str]
    """Action names as written."""
    probabilities: list[Fraction] = field(default_factory=list)
    """Of chance outcomes."""


class _Parser:
    """Reads the nodes in prefix order, one pass, no recursion."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.infosets: list[dict[int, _Infoset]] = []
        """By player, then by number; those of chance come last."""
        self.nodes: list[Decision | Chance | Terminal] = []
        """The distinct nodes: infosets, distributions, payoffs."""
        self.outcomes: dict[int, tuple[str, tuple[Fraction, ...]]] = {}
        """Name and payoffs by number."""
        # Sums of payoffs are numbered; node by node only these numbers are looked up.
        self.totals: list[tuple[Fraction, ...]] = []
        self.total_of: dict[tuple[Fraction, ...], int] = {}
        self.sums: dict[tuple[int, int], int] = {}
        """Number of the total after a total and an outcome."""
        self.terminals: dict[int, int] = {}
        """Where the terminal that pays a total is in the list of nodes."""

    def game(self) -> EfgGame:
        tokens = self.tokens
        title = tokens.header("EFG", "2")
        players = tokens.texts("the names of the players")
        if tokens.kind == TEXT:
            tokens.advance()  # A comment.
        self.infosets = [{} for _ in range(len(players) + 1)]
        self.total((Fraction(0),) * len(players))
        kinds: list[int] = []
        children: list[list[int]] = []
        childless: list[int] = []
        # Of the nodes on the path: number, payoffs so far, children still to come.
        path: list[list[int]] = []
        while path or not kinds:
            if tokens.kind != WORD or tokens.value not in ("c", "p", "t"):
                missing = sum(to_come for _, _, to_come in path)
                more = f"; {missing:,} more nodes must follow" if tokens.kind == END else ""
                tokens.fail(f"expected a node, c, p or t, found {tokens.found()}{more}")
            letter = tokens.value
            tokens.advance()
            tokens.expect(TEXT, "the name of the node in quotes")
            here, before = len(kinds), 0
            if path:
                parent, before, _ = path[-1]
                children[parent].append(here)
                path[-1][2] -= 1
            if letter == "t":
                kinds.append(self.terminal(self.outcome(before)))
                children.append(childless)
                while path and not path[-1][2]:
                    path.pop()
            else:
                infoset = self.infoset(chance=letter == "c")
                kinds.append(infoset.kind)
                children.append([])
                path.append([here, self.outcome(before), len(infoset.actions)])
        if tokens.kind != END:
            tokens.fail(f"the tree is complete, but {tokens.found()} follows")
        self.name_infosets()
        return EfgGame(
            title=title, players=players, kinds=kinds, children=children, nodes=self.nodes
        )

    def infoset(self, *, chance: bool) -> _Infoset:
        """Read the middle of a node, of a player or of chance: its infoset, and the description of
        that if it is given; one that is given again must be the same."""
        tokens = self.tokens
        player = -1 if chance else self.player()
        what, owner = ("chance node", "") if chance else ("infoset", f" of player {player + 1}")
        number = tokens.whole_here(f"the number of the {what}")
        known, where = self.infosets[player].get(number), f"{what} {number}{owner}"
        if tokens.kind != TEXT:
            if known is None:
                tokens.fail(
                    f"{where} must be described where it is first used, found {tokens.found()}"
                )
            return known
        name, start = tokens.text_here(f"the name of the {what}"), tokens.start
        if chance:
            actions, probabilities = self.distribution()
        else:
            actions, probabilities = tokens.texts("the names of the actions"), []
        if known is None:
            total = float(sum(probabilities))
            # Files written by programs say 0.333333333333333 three times.
            if chance and abs(total - 1) > CHANCE_TOLERANCE:
                tokens.fail(f"the probabilities of {where} sum to {total:.12g}, not 1", start)
            known = _Infoset(number, len(self.nodes), name, actions, probabilities)
            self.infosets[player][number] = known
            labels: list[Hashable] = [*distinct(actions)]
            pairs = zip(labels, map(float, probabilities), strict=True)
            self.nodes.append(Chance(dict(pairs)) if chance else Decision(player, "", (*labels,)))
        if name != known.name:
            tokens.fail(f"{where} was named {known.name!r} before, not {name!r}", start)
        if actions != known.actions:
            tokens.fail(f"{where} had the actions {known.actions} before", start)
        if probabilities != known.probabilities:
            tokens.fail(f"{where} had other probabilities before", start)
        return known

    def player(self) -> int:
        """Read the number of a player, which is from 1 in files; returns it from 0."""
        start, players = self.tokens.start, len(self.infosets) - 1
        player = self.tokens.whole_here("the number of the player")
        if not 1 <= player <= players:
            self.tokens.fail(f"there is no player {player}; the file names {players}", start)
        return player - 1

    def distribution(self) -> tuple[list[str], list[Fraction]]:
        """Read the outcomes of a chance node, and their probabilities."""
        tokens = self.tokens
        tokens.expect_mark("{", "before the chance outcomes")
        outcomes: list[str] = []
        probabilities: list[Fraction] = []
        while not outcomes or tokens.kind == TEXT:
            outcomes.append(tokens.text_here("the name of the chance outcome"))
            at = tokens.start
            probabilities.append(tokens.number_here("the probability of the chance outcome"))
            if probabilities[-1] < 0:
                tokens.fail("this probability is negative", at)
        tokens.expect_mark("}", "after the chance outcomes")
        return outcomes, probabilities

    def outcome(self, before: int) -> int:
        """Read the end of a node, its outcome; returns the number of the payoffs so far."""
        tokens = self.tokens
        start = tokens.start
        number = tokens.whole_here("the number of the outcome")
        if tokens.kind == TEXT:
            name = tokens.text_here("the name of the outcome")
            if number == 0:
                tokens.fail("outcome 0 means no payoffs: it has no name and no payoffs", start)
            tokens.expect_mark("{", "before the payoffs")
            payoffs = tokens.payoffs(len(self.infosets) - 1)
            if self.outcomes.setdefault(number, (name, payoffs)) != (name, payoffs):
                tokens.fail(f"outcome {number} had another name or other payoffs before", start)
        if number == 0:
            return before
        found = self.sums.get((before, number))
        if found is None:
            if number not in self.outcomes:
                tokens.fail(f"outcome {number} must be described where it is first used", start)
            added = zip(self.totals[before], self.outcomes[number][1], strict=True)
            found = self.sums[before, number] = self.total(tuple(a + b for a, b in added))
        return found

    def total(self, payoffs: tuple[Fraction, ...]) -> int:
        """The number of a sum of payoffs."""
        found = self.total_of.setdefault(payoffs, len(self.totals))
        if found == len(self.totals):
            self.totals.append(payoffs)
        return found

    def terminal(self, total: int) -> int:
        """Where the terminal that pays a total is in the list of nodes."""
        found = self.terminals.get(total)
        if found is None:
            found = self.terminals[total] = len(self.nodes)
            self.nodes.append(Terminal(tuple(map(float, self.totals[total]))))
        return found

    def name_infosets(self) -> None:
        """Give every player's infosets labels of their own."""
        own = [
            (player, infoset)
            for player, infosets in enumerate(self.infosets[:-1])
            for infoset in infosets.values()
        ]
        count: dict[str, int] = {}
        for _, infoset in own:
            count[infoset.name] = count.get(infoset.name, 0) + 1
        taken = set(count)
        for player, infoset in own:
            label = infoset.name
            if not label or count[label] > 1:
                place = f"P{player}:{infoset.number}"
                label = f"{label} ({place})" if label else place
                while label in taken:
                    label += "'"
                taken.add(label)
            self.nodes[infoset.kind] = self.nodes[infoset.kind]._replace(infoset=label)  # type: ignore[call-arg]


def save_efg(game: FlatGame, path: str | Path) -> Path:
    """Write a game as a ``.efg`` file, which Gambit reads, too.

    :func:`tensorcfr.compile_game` reads the same histories back, with the same labels and bits; of
    a game that was compiled history by history, all arrays are the same, but for what is said
    of probabilities below.

    Probabilities of chance are written as fractions that sum to exactly 1 and round to the game's
    own (where the game's own do not sum to 1 but for rounding, they are scaled); utilities with as
    many digits as a float64 has.

    Args:
        game: The game; one of private hands is written history by history.
        path: Where to; a file that is there is replaced.

    Returns:
        The path.

    Raises:
        MemoryLimitError: The game's histories do not fit into memory.
        ValueError: A label cannot be written.
    """
    path = Path(path)
    with replacing(path) as file:
        for line in efg_lines(game):
            file.write(line.encode())
    return path


def efg_lines(game: FlatGame, *, plain: bool = False) -> Iterator[str]:
    """The lines of :func:`save_efg`.

    Args:
        game: The game.
        plain: Whether to describe infosets and outcomes wherever they occur, and not only at
            their first nodes, and to write probabilities as decimals; OpenSpiel asks for both.
    """
    tree = game.tree
    players = " ".join(quoted(f"Player {player}") for player in range(game.n_players))
    yield f"EFG 2 R {quoted(game.name)} {{ {players} }}\n"
    first_child, player_of, infoset_of = (
        array.tolist() for array in (tree.first_child, tree.player, tree.infoset)
    )
    distinct_pay, outcome_of = np.unique(tree.utility * game.unit, axis=0, return_inverse=True)
    outcome_at = dict(zip(tree.terminal.tolist(), (outcome_of.ravel() + 1).tolist(), strict=True))
    offset = game.form.player_infosets.tolist()
    chance_number: dict[tuple[tuple[int, ...], tuple[float, ...]], int] = {}
    described: set[tuple[int, int]] = set()
    stack = [0]
    while stack:
        node = stack.pop()
        children = range(first_child[node], first_child[node + 1])
        stack.extend(reversed(children))
        player = player_of[node]
        if player == TERMINAL:
            number = outcome_at[node]
            line, about = f't "" {number}', ""
            if plain or (TERMINAL, number) not in described:
                pays = ", ".join(map(decimal, distinct_pay[number - 1].tolist()))
                about = f' "{number}" {{ {pays} }}'
            yield f"{line}{about}\n"
        elif player == CHANCE:
            at = slice(children.start, children.stop)
            outcomes = tuple(tree.outcome[at].tolist())
            key = outcomes, tuple(tree.probability[at].tolist())
            number = chance_number.setdefault(key, len(chance_number) + 1)
            about = ""
            if plain or (CHANCE, number) not in described:
                probabilities = map(decimal, key[1]) if plain else map(str, exact(key[1]))
                listed = " ".join(
                    f"{quoted(game.outcome_labels[outcome])} {probability}"
                    for outcome, probability in zip(outcomes, probabilities, strict=True)
                )
                about = f' "" {{ {listed} }}'
            yield f'c "" {number}{about} 0\n'
        else:
            infoset = infoset_of[node]
            number = infoset - offset[player] + 1
            about = ""
            if plain or (player, number) not in described:
                actions = " ".join(map(quoted, game.infoset_actions[infoset]))
                about = f" {quoted(game.infoset_labels[infoset])} {{ {actions} }}"
            yield f'p "" {player + 1} {number}{about} 0\n'
        described.add((player, number))


def exact(probabilities: Sequence[float]) -> list[Fraction]:
    """Fractions that sum to 1 and, where such fractions exist, round to these probabilities.

    Simple ones, such as 1/3, where they do; otherwise the floats' own fractions, each moved by
    less than half of the distance to its neighbour.  Where the probabilities are off by more than
    their rounding, they are scaled.
    """
    for ulps in (0, 4):
        simple = [_simplest(probability, ulps) for probability in probabilities]
        if sum(simple) == 1:
            return simple
    found = [Fraction(probability) for probability in probabilities]
    missing = 1 - sum(found)
    room = [Fraction(float(np.spacing(p)) if p else 0.0) for p in probabilities]
    moved = [f + missing * r / sum(room) for f, r in zip(found, room, strict=True)]
    if [float(f) for f in moved] == list(probabilities):
        return moved
    return [f / sum(found) for f in found]


@lru_cache(maxsize=4096)
def _simplest(probability: float, ulps: int) -> Fraction:
    """A fraction with a small denominator that is a probability but for some ulps; or its own."""
    near = ulps * float(np.spacing(probability))
    for power in range(1, 9):
        found = Fraction(probability).limit_denominator(10**power)
        if abs(float(found) - probability) <= near:
            return found
    return Fraction(probability)
