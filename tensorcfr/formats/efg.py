"""Reader and writer of extensive-form games in Gambit's ``.efg`` format."""

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
    """Game read from a ``.efg`` text; a state is the number of a node, in file order.

    The label of an infoset is its name.  An infoset without a name is labelled ``"P0:3"`` (player
    0, infoset number 3 of the file).  If several infosets have the same name, each is labelled
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
        """Title in the file."""
        self.players = tuple(players)
        """Names of the players."""
        self.n_players = len(players)
        self._kinds = kinds
        self._children = children
        self._nodes = nodes
        self._moves = [_moves(node) for node in nodes]

    @property
    def name(self) -> str:
        """Title in the file."""
        return self.title

    def root(self) -> int:
        """Return the first node of the file."""
        return 0

    def node(self, state: int) -> Decision | Chance | Terminal:
        """Return the decision, chance node or terminal at a node of the file."""
        return self._nodes[self._kinds[state]]

    def next(self, state: int, action: str) -> int:
        """Return the node after an action or a chance outcome."""
        return self._children[state][self._moves[self._kinds[state]][action]]


def _moves(node: Decision | Chance | Terminal) -> dict[str, int]:
    """Return the index of the child to which each action or outcome leads."""
    if isinstance(node, Terminal):
        return {}
    listed = node.actions if isinstance(node, Decision) else node.outcomes
    return {str(action): index for index, action in enumerate(listed)}


def read_efg(path: str | Path) -> EfgGame:
    """Read the game in a ``.efg`` file.

    Raises:
        FormatError: The file is not in the format; names file, line and column.
        OSError: The file cannot be read.
    """
    return parse_efg(decoded(Path(path).read_bytes(), path), str(path))


def parse_efg(text: str, source: str = "efg") -> EfgGame:
    """Read the game in a text in the ``.efg`` format.

    Payoffs on the path to a terminal are added as exact fractions before they become float64.
    Perfect recall is checked when the game is compiled, as for every game.

    Raises:
        FormatError: The text is not in the format; names line and column.
    """
    return _Parser(Tokens(text, source)).game()


@dataclass
class _Infoset:
    """Infoset of a player, or distribution of a chance node, as the file describes it."""

    number: int
    """Number in the file."""
    kind: int
    """Index in the list of distinct nodes."""
    name: str
    actions: list[str]
    """Names of the actions or chance outcomes, as written."""
    probabilities: list[Fraction] = field(default_factory=list)
    """Probabilities of the chance outcomes; empty for a player's infoset."""


class _Parser:
    """Parser that reads the nodes in prefix order, in one pass and without recursion."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.infosets: list[dict[int, _Infoset]] = []
        """Infosets by player and number; the last dict holds the chance nodes."""
        self.nodes: list[Decision | Chance | Terminal] = []
        """Distinct nodes: infosets, distributions, payoffs."""
        self.outcomes: dict[int, tuple[str, tuple[Fraction, ...]]] = {}
        """Name and payoffs of each outcome, by number."""
        # Sums of fractions are slow.  So each distinct sum of payoffs is numbered, and a node only
        # looks up the number of its sum.
        self.totals: list[tuple[Fraction, ...]] = []
        self.total_of: dict[tuple[Fraction, ...], int] = {}
        self.sums: dict[tuple[int, int], int] = {}
        """Number of the sum of payoffs, by number of the previous sum and of the outcome added."""
        self.terminals: dict[int, int] = {}
        """Index in the list of nodes of the terminal that pays a sum, by number of the sum."""

    def game(self) -> EfgGame:
        """Read the whole file."""
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
        # For each node on the path: its number, number of the payoffs so far, children to come.
        path: list[list[int]] = []
        while path or not kinds:
            if tokens.kind != WORD or tokens.value not in ("c", "p", "t"):
                missing = sum(to_come for _, _, to_come in path)
                more = f"; {missing:,} more nodes must follow" if tokens.kind == END else ""
                tokens.fail(f"expected a node, c, p or t, found {tokens.found()}{more}")
            letter = tokens.value
            tokens.advance()
            tokens.expect(TEXT, "the name of the node in quotes")
            node, previous_sum = len(kinds), 0
            if path:
                parent, previous_sum, _ = path[-1]
                children[parent].append(node)
                path[-1][2] -= 1
            if letter == "t":
                kinds.append(self.terminal(self.outcome(previous_sum)))
                children.append(childless)
                # A terminal may complete its parent, the parent's parent, and so on.
                while path and not path[-1][2]:
                    path.pop()
            else:
                infoset = self.infoset(chance=letter == "c")
                kinds.append(infoset.kind)
                children.append([])
                path.append([node, self.outcome(previous_sum), len(infoset.actions)])
        if tokens.kind != END:
            tokens.fail(f"the tree is complete, but {tokens.found()} follows")
        self.name_infosets()
        return EfgGame(
            title=title, players=players, kinds=kinds, children=children, nodes=self.nodes
        )

    def infoset(self, *, chance: bool) -> _Infoset:
        """Read the infoset of a player's node or the distribution of a chance node.

        The first node of an infoset must describe it; a repeated description must be the same.
        """
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
            # Programs write rounded probabilities such as 0.333333333333333.
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
        """Read the number of a player, counted from 1 in files; return it counted from 0."""
        start, players = self.tokens.start, len(self.infosets) - 1
        player = self.tokens.whole_here("the number of the player")
        if not 1 <= player <= players:
            self.tokens.fail(f"there is no player {player}; the file names {players}", start)
        return player - 1

    def distribution(self) -> tuple[list[str], list[Fraction]]:
        """Read the outcomes of a chance node and their probabilities."""
        tokens = self.tokens
        tokens.expect_mark("{", "before the chance outcomes")
        outcomes: list[str] = []
        probabilities: list[Fraction] = []
        while not outcomes or tokens.kind == TEXT:
            outcomes.append(tokens.text_here("the name of the chance outcome"))
            start = tokens.start
            probabilities.append(tokens.number_here("the probability of the chance outcome"))
            if probabilities[-1] < 0:
                tokens.fail("this probability is negative", start)
        tokens.expect_mark("}", "after the chance outcomes")
        return outcomes, probabilities

    def outcome(self, previous_sum: int) -> int:
        """Read the outcome at the end of a node; return the number of the payoffs so far."""
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
            return previous_sum
        new_sum = self.sums.get((previous_sum, number))
        if new_sum is None:
            if number not in self.outcomes:
                tokens.fail(f"outcome {number} must be described where it is first used", start)
            added = zip(self.totals[previous_sum], self.outcomes[number][1], strict=True)
            new_sum = self.sums[previous_sum, number] = self.total(tuple(a + b for a, b in added))
        return new_sum

    def total(self, payoffs: tuple[Fraction, ...]) -> int:
        """Return the number of a sum of payoffs; a new sum gets the next number."""
        number = self.total_of.setdefault(payoffs, len(self.totals))
        if number == len(self.totals):
            self.totals.append(payoffs)
        return number

    def terminal(self, total: int) -> int:
        """Return the index in the list of nodes of the terminal that pays a sum."""
        index = self.terminals.get(total)
        if index is None:
            index = self.terminals[total] = len(self.nodes)
            self.nodes.append(Terminal(tuple(map(float, self.totals[total]))))
        return index

    def name_infosets(self) -> None:
        """Give every infoset of a player a unique label."""
        player_infosets = [
            (player, infoset)
            for player, infosets in enumerate(self.infosets[:-1])
            for infoset in infosets.values()
        ]
        count: dict[str, int] = {}
        for _, infoset in player_infosets:
            count[infoset.name] = count.get(infoset.name, 0) + 1
        taken = set(count)
        for player, infoset in player_infosets:
            label = infoset.name
            if not label or count[label] > 1:
                place = f"P{player}:{infoset.number}"
                label = f"{label} ({place})" if label else place
                while label in taken:
                    label += "'"
                taken.add(label)
            self.nodes[infoset.kind] = self.nodes[infoset.kind]._replace(infoset=label)  # type: ignore[call-arg]


def save_efg(game: FlatGame, path: str | Path) -> Path:
    """Write a game as a ``.efg`` file, which Gambit also reads.

    :func:`tensorcfr.compile_game` reads the same histories back, with the same labels and payoffs.
    If the game was compiled history by history, all arrays are the same, except for chance
    probabilities that had to be scaled.

    Chance probabilities are written as fractions that sum to exactly 1 and round to the game's
    probabilities.  If the game's probabilities do not sum to 1 within rounding, they are scaled.
    Utilities are written with all digits of a float64.

    Args:
        game: The game; a game of private hands is written history by history.
        path: File to write; an existing file is replaced.

    Returns:
        ``path`` as a Path.

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
    """Yield the lines of a ``.efg`` file.

    Args:
        game: The game.
        plain: True to describe infosets and outcomes at every node instead of only the first one,
            and to write probabilities as decimals.  OpenSpiel requires both.
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
        # The format lists nodes in prefix order, so the first child must be on top of the stack.
        stack.extend(reversed(children))
        player = player_of[node]
        if player == TERMINAL:
            number = outcome_at[node]
            line, description = f't "" {number}', ""
            if plain or (TERMINAL, number) not in described:
                pays = ", ".join(map(decimal, distinct_pay[number - 1].tolist()))
                description = f' "{number}" {{ {pays} }}'
            yield f"{line}{description}\n"
        elif player == CHANCE:
            child_nodes = slice(children.start, children.stop)
            outcomes = tuple(tree.outcome[child_nodes].tolist())
            key = outcomes, tuple(tree.probability[child_nodes].tolist())
            number = chance_number.setdefault(key, len(chance_number) + 1)
            description = ""
            if plain or (CHANCE, number) not in described:
                probabilities = map(decimal, key[1]) if plain else map(str, exact(key[1]))
                listed = " ".join(
                    f"{quoted(game.outcome_labels[outcome])} {probability}"
                    for outcome, probability in zip(outcomes, probabilities, strict=True)
                )
                description = f' "" {{ {listed} }}'
            yield f'c "" {number}{description} 0\n'
        else:
            infoset = infoset_of[node]
            number = infoset - offset[player] + 1
            description = ""
            if plain or (player, number) not in described:
                actions = " ".join(map(quoted, game.infoset_actions[infoset]))
                description = f" {quoted(game.infoset_labels[infoset])} {{ {actions} }}"
            yield f'p "" {player + 1} {number}{description} 0\n'
        described.add((player, number))


def exact(probabilities: Sequence[float]) -> list[Fraction]:
    """Return fractions that sum to exactly 1 and round to the given probabilities.

    Simple fractions such as 1/3 are preferred.  Otherwise the exact fraction of each float is moved
    by less than half of the distance to its neighbour.  Probabilities whose sum differs from 1 by
    more than rounding are scaled instead.
    """
    # Prefer fractions that round to the floats; accept a few ulps for probabilities that another
    # program rounded.
    for ulps in (0, 4):
        simple = [_simplest(probability, ulps) for probability in probabilities]
        if sum(simple) == 1:
            return simple
    fractions = [Fraction(probability) for probability in probabilities]
    # Spread the error over the fractions in proportion to the spacing of their floats.
    missing = 1 - sum(fractions)
    spacing = [Fraction(float(np.spacing(p)) if p else 0.0) for p in probabilities]
    moved = [f + missing * r / sum(spacing) for f, r in zip(fractions, spacing, strict=True)]
    if [float(f) for f in moved] == list(probabilities):
        return moved
    return [f / sum(fractions) for f in fractions]


@lru_cache(maxsize=4096)
def _simplest(probability: float, ulps: int) -> Fraction:
    """Return a fraction with a small denominator within some ulps of a probability.

    If there is none, return the exact fraction of the float.
    """
    near = ulps * float(np.spacing(probability))
    for power in range(1, 9):
        fraction = Fraction(probability).limit_denominator(10**power)
        if abs(float(fraction) - probability) <= near:
            return fraction
    return Fraction(probability)
