"""Read the strategies or regrets that other programs print, and find their infosets."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._util.argument_checks import brief
from ..errors import suggest
from ..model.flat_game import FlatGame
from ..model.public_nodes import PublicNodes
from .plain_loops import LoopTree

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
HEADER = re.compile(r"^\W*(?:iter(?:ation)?s?|after|t|T)\b\W*(\d[\d,_]*)", re.IGNORECASE)
"""Line that begins the numbers of an iteration."""
GROUP = re.compile(
    r"^(?P<label>.*?)[\s:=|,]*(?:strategy\W*)?[\[({](?P<inside>[^\[\](){}]*)[\])}]\W*$"
)
"""Line whose numbers are in brackets."""
TRAILING = re.compile(rf"^(?P<label>.*?)(?P<inside>(?:[\s,|:;]+{NUMBER})+)[\s|]*$")
"""Line that ends with numbers."""
WORDS = {
    "pass": "check fold p k x",
    "bet": "raise call b r",
    "check": "call pass k x c p",
    "call": "check bet c k x b p",
    "raise": "bet r b",
    "fold": "pass f p",
    "c": "call check k x",
    "f": "fold",
}
"""Other spellings of actions.  A letter or word that fits several actions of a decision means the
first that fits, in the order of :func:`_spellings`."""
RANKS = "23456789TJQKA"
LISTS = Mapping[str, Any]


@dataclass(frozen=True)
class PrintedNumbers:
    """Numbers of another program, in the order of :class:`LoopTree`."""

    checkpoints: dict[int, np.ndarray]
    """Numbers by iteration, float64 (numbers,); NaN for infosets without numbers."""
    tolerance: float
    """Half a unit of the last printed digit."""
    missing: tuple[str, ...]
    """Labels of the infosets without numbers at the last iteration."""

    are_strategies: bool
    """True if the numbers of each infoset are nonnegative and sum to 1."""


def read_numbers(
    tree: LoopTree, source: Any, iteration: int | None, actions: Sequence[str] | None
) -> PrintedNumbers:
    """Read the numbers of another program.

    Args:
        tree: The tree of the game.
        source: As for :func:`tensorcfr.analysis.diagnose`.
        iteration: Iteration of numbers that come without one.
        actions: Actions in the order of the program's numbers.

    Raises:
        ValueError: A label or an action is unknown, an infoset has a wrong number of numbers, or
            the iteration is missing; names it.
        TypeError: The source has a wrong type.
    """
    if actions is not None:
        _check_order(tree.game, actions)
    if isinstance(source, Path):
        source = source.read_text("utf-8")
    tables, columns = (
        _tables_of_text(source) if isinstance(source, str) else (_tables(source), None)
    )
    if set(tables) == {None}:
        if iteration is None:
            raise ValueError(
                "iteration is missing: after which iteration were the numbers printed?"
            )
        tables = {iteration: tables[None]}
    elif None in tables:
        raise ValueError(
            "some numbers come before the first line with an iteration, such as 'iteration 1'"
        )
    if not tables or not all(tables.values()):
        raise ValueError("there are no numbers of infosets, such as 'Kb: [0.1, 0.9]'")
    labels = list(dict.fromkeys(label for table in tables.values() for label in table))
    infosets = find_infosets(tree.game, labels)
    order = actions or columns
    checkpoints, texts = {}, set[str]()
    for t, table in sorted(tables.items(), key=lambda pair: int(pair[0] or 0)):
        row = np.full(int(tree.starts[-1]), np.nan)
        for label, numbers in table.items():
            for infoset in infosets[label]:
                row[tree.slices[infoset]] = _ordered(tree.game, infoset, label, numbers, order)
            listed = numbers.values() if isinstance(numbers, Mapping) else numbers
            texts |= {
                number if isinstance(number, str) else repr(float(number)) for number in listed
            }
        checkpoints[int(t or 0)] = row
    last = checkpoints[max(checkpoints)]
    missing = [
        label
        for i, label in enumerate(tree.game.infoset_labels)
        if np.isnan(last[tree.slices[i]]).any()
    ]
    tolerance = 0.5 * 10.0 ** -max(map(_decimals, texts))
    shown = np.where(np.isnan(last), 0.0, last)
    sums = np.add.reduceat(shown, tree.starts[:-1])
    is_distribution = (np.abs(sums - 1) <= 1e-6 + 2 * np.array(tree.sizes) * tolerance) | np.isnan(
        np.add.reduceat(last, tree.starts[:-1])
    )
    sums_to_one = bool(is_distribution.all() and (shown >= 0).all())
    return PrintedNumbers(checkpoints, tolerance, tuple(missing), sums_to_one)


def _check_order(game: FlatGame, actions: Any) -> None:
    """Check the order of actions that a caller gives."""
    if not isinstance(actions, (list, tuple)) or not all(isinstance(a, str) for a in actions):
        raise TypeError(f"actions must be a list or tuple of texts, not {brief(actions)}")
    known = list(dict.fromkeys(game.infoset_actions))
    if not any(
        sorted(-1 if i is None else i for i in (_match_action(row, a, False) for a in actions))
        == list(range(len(row)))
        for row in known
    ):
        named = "; ".join(map(", ".join, known[:4]))
        raise ValueError(f"actions: {brief(actions)} are not the actions of {game.name}: {named}")


def _decimals(text: str) -> int:
    mantissa, _, exponent = text.lower().partition("e")
    return max(len(mantissa.partition(".")[2]) - int(exponent or 0), 0)


def _tables(source: Any) -> dict[int | None, LISTS]:
    """Return tables by iteration of numbers that are Python objects."""
    if isinstance(source, Mapping):
        if all(isinstance(key, (int, np.integer)) for key in source) and all(
            isinstance(table, Mapping) for table in source.values()
        ):
            return {int(t): table for t, table in source.items()}
        return {None: {str(label): numbers for label, numbers in source.items()}}
    if isinstance(source, Sequence) and all(isinstance(table, Mapping) for table in source):
        return dict(enumerate(source, start=1))
    raise TypeError(
        "numbers must be a mapping of infosets, one mapping for each iteration, a text or a path, "
        f"not {brief(source)}"
    )


def _tables_of_text(text: str) -> tuple[dict[int | None, LISTS], list[str] | None]:
    """Return tables by iteration, and the actions that a heading names."""
    try:
        return _tables(ast.literal_eval(text.strip())), None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass  # The text is not one Python object, so read it line by line.
    tables: dict[int | None, dict[str, Any]] = {}
    iteration, columns = None, None
    for line in text.splitlines():
        row = _row_of(line)
        if row is not None and row[0]:
            label, numbers = row
            table = tables.setdefault(iteration, {})
            if isinstance(numbers, dict) and isinstance(table.get(label), dict):
                table[label].update(numbers)
            elif label in table:
                raise ValueError(f"infoset {label!r} is printed twice: {brief(line)}")
            else:
                table[label] = numbers
        elif header := HEADER.match(line):
            iteration = int(re.sub(r"\D", "", header[1]))
        elif columns is None:
            columns = _heading(line)
    return dict(tables), columns


def _heading(line: str) -> list[str] | None:
    """Return the actions of a heading such as ``History  Bet  Pass``."""
    words = re.findall(r"[a-z]+", line.lower())
    actions = [word for word in words if word in WORDS and len(word) > 1]
    return actions if len(actions) >= 2 and len(words) <= len(actions) + 2 else None


def _row_of(line: str) -> tuple[str, Any] | None:
    """Return label and numbers of a line; None if the line has no numbers of an infoset."""
    for pattern in (GROUP, TRAILING):
        if (match := pattern.match(line.strip(" \t|*"))) is None:
            continue
        items = [
            item.strip()
            for item in re.split(r"[,;|\s]+(?![^:]*$)|[,;|]|\s+(?=[-+.\d])", match["inside"])
        ]
        named = re.findall(rf"['\"]?([A-Za-z]\w*)['\"]?\s*[:=]\s*({NUMBER})", match["inside"])
        numbers = [item for item in items if item and re.fullmatch(NUMBER, item)]
        label = re.sub(r"^\W*\d+[.)]\s+|^[*\-\s'\"|]+|[\s:=|,'\"]+$", "", match["label"])
        if named:
            return label, dict(named)
        if len(numbers) > 1:
            return label, numbers
        if len(numbers) == 1 and pattern is TRAILING:
            # One number: the last word before it is the action.
            *first, action = re.split(r"[\s,|]+", label) if label else [""]
            if first and action.lower() in _all_words():
                return " ".join(first).strip(), {action.lower(): numbers[0]}
    return None


def _all_words() -> set[str]:
    return set(WORDS) | set(" ".join(WORDS.values()).split())


def _ordered(
    game: FlatGame, infoset: int, label: str, numbers: Any, order: Sequence[str] | None
) -> list[float]:
    """Return the numbers of an infoset in the order of its actions."""
    actions = game.infoset_actions[infoset]
    if not isinstance(numbers, Mapping):
        numbers = list(numbers)
        if len(numbers) != len(actions):
            raise ValueError(
                f"infoset {label!r} has {len(numbers)} numbers, but {len(actions)} actions: "
                f"{', '.join(actions)}"
            )
        if order is None or len(order) != len(actions):
            return [float(number) for number in numbers]
        numbers = dict(zip(order, numbers, strict=True))
    by_action: dict[str, float] = {}
    for word, number in numbers.items():
        action = _match_action(actions, str(word), False)
        if action is None:
            raise ValueError(
                f"infoset {label!r} has no action {word!r}; {suggest(str(word), actions)}"
            )
        by_action[actions[action]] = float(number)
    if len(by_action) < len(actions):
        raise ValueError(f"infoset {label!r} lacks a number of an action: {', '.join(actions)}")
    return [by_action[action] for action in actions]


# -------------------------------------------------------------------------------------- labels


def find_infosets(game: FlatGame, labels: Sequence[str]) -> dict[str, list[int]]:
    """Find the infosets of labels: the game's, OpenSpiel's, or a card followed by actions.

    A card is a label of a hand, a rank, or a number that counts cards or ranks from any start.
    Actions are letters, words or indices.  A rank means its cards in all suits.

    Raises:
        ValueError: A label fits no infoset, or two labels fit the same; names them.
    """
    index, nodes = game.infoset_index, game.nodes
    if all(label in index for label in labels):
        return {label: [index[label]] for label in labels}
    infosets: dict[str, list[int]] = {}
    if nodes is not None:
        parsed = {label: _split_label(nodes, label) for label in labels}
        cards = _card_groups(nodes, {card for card, _ in parsed.values()})
        for label, (card, steps) in parsed.items():
            node = _follow(nodes, cards, steps) if card in cards else None
            if node is not None and nodes.player(node) >= 0:
                possible = nodes.possible(node, nodes.player(node))
                hands = [hand for hand in cards[card] if possible[hand]]
                infosets[label] = [index[name] for name in nodes.labels(node, hands)]
    taken: dict[int, str] = {}
    for label in labels:
        if not infosets.get(label):
            if label not in index:
                raise ValueError(
                    f"numbers: {game.name} has no infoset {label!r}; "
                    f"{suggest(label, list(game.infoset_labels))}"
                )
            infosets[label] = [index[label]]
        for infoset in infosets[label]:
            if taken.setdefault(infoset, label) != label:
                raise ValueError(
                    f"{taken[infoset]!r} and {label!r} both name {game.infoset_labels[infoset]!r}"
                )
    return infosets


def _split_label(nodes: PublicNodes, label: str) -> tuple[str, list[str]]:
    """Return the card of a label, and its actions and board cards in order."""
    if "[Private:" in label:  # OpenSpiel's information states of Leduc poker.
        fields = dict(re.findall(r"\[(\w+): ?([^\]]*)\]", label))
        rounds = [fields.get("Round1", "").split(), fields.get("Round2", "").split()]
        board = [f"#{fields['Public']}"] if fields.get("Public") else []
        names = {"0": "fold", "1": "call", "2": "raise"}
        return f"#{fields['Private']}", [
            *(names[a] for a in rounds[0]),
            *board,
            *(names[a] for a in rounds[1]),
        ]
    hands = sorted({hand for labels in nodes.hands for hand in labels}, key=len, reverse=True)
    text = label.strip(" .<>*")
    card = next((hand for hand in hands if text.upper().startswith(hand.upper())), None)
    if card is None:
        match = re.match(r"\d+|[2-9TJQKA]", text)
        card = match[0] if match else ""
    words = "|".join(
        sorted((word for word in _all_words() if len(word) > 1), key=len, reverse=True)
    )
    rest = text[len(card) :]
    return card, re.findall(rf"{words}|\d+|(?-i:[2-9TJQKA][shdc])|[a-z]", rest, re.IGNORECASE)


def _card_groups(nodes: PublicNodes, tokens: set[str]) -> dict[str, list[int]]:
    """Return the hands of each card: of equal labels, else ranks or numbers in ascending order."""
    hands = list(nodes.hands[0])
    if all(token.startswith("#") for token in tokens):  # OpenSpiel numbers the cards from 0.
        return {f"#{index}": [index] for index in range(len(hands))}
    by_label = {hand.upper(): [index] for index, hand in enumerate(hands)}
    if all(token.upper() in by_label for token in tokens):
        return {token: by_label[token.upper()] for token in tokens}
    ranks = list(
        dict.fromkeys(
            hand[:-1] if hand[-1:] in "shdc" and len(hand) > 1 else hand for hand in hands
        )
    )
    of_rank = [[i for i, hand in enumerate(hands) if hand.startswith(rank)] for rank in ranks]
    ordered = sorted(tokens, key=lambda t: int(t) if t.isdigit() else RANKS.find(t.upper()))
    for groups in ([[i] for i in range(len(hands))], of_rank):
        if len(groups) == len(ordered):
            return dict(zip(ordered, groups, strict=True))
    return {
        token: of_rank[ranks.index(token.upper())] for token in tokens if token.upper() in ranks
    }


def _follow(nodes: PublicNodes, cards: Mapping[str, list[int]], steps: list[str]) -> int | None:
    """Return the public node that actions and board cards lead to; None if there is none.

    A board card may also stand directly before the actions.
    """
    node, has_bet, rest = 0, False, list(steps)
    while rest or nodes.player(node) < 0:
        edges = nodes.children(node)
        names = [edge.label for edge in edges]
        if nodes.player(node) < 0:
            boards = [
                place
                for place, step in enumerate(rest)
                if _match_board(nodes, names, cards, step) is not None
            ]
            if not boards or not edges:
                return None
            chosen = _match_board(nodes, names, cards, rest.pop(boards[0]))
            has_bet = False
        else:
            place = 0
            chosen = _match_action(names, rest[place], has_bet)
            while chosen is None and place + 1 < len(rest):
                place += 1  # Skip a board card that stands before the actions.
                chosen = _match_action(names, rest[place], has_bet)
            if chosen is None:
                return None
            rest.pop(place)
            has_bet = (
                has_bet or names[chosen] in ("bet", "raise", "b", "r") or names[chosen].isdigit()
            )
        node = edges[chosen or 0].node
    return node


def _match_board(
    nodes: PublicNodes, names: Sequence[str], cards: Mapping[str, list[int]], step: str
) -> int | None:
    hands = cards.get(step, cards.get(step.upper(), []))
    labels = {nodes.hands[0][hand] for hand in hands} | {step}
    return next((index for index, name in enumerate(names) if name in labels), None)


def _match_action(actions: Sequence[str], word: str, has_bet: bool) -> int | None:
    """Return the action of a decision that a word, letter or index means; None if there is none."""
    word = word.lower()
    if word in actions:
        return list(actions).index(word)
    if word.isdigit():
        if any(action.isdigit() for action in actions):  # Chips: 0 folds if there is a bet.
            return list(actions).index("f" if word == "0" and "f" in actions else "c")
        return int(word) if int(word) < len(actions) else None
    if set(actions) == {"pass", "bet"} and word in ("c", "call"):
        return list(actions).index("bet" if has_bet or word == "call" else "pass")
    for spelling in _spellings(actions):
        if word in spelling:
            return spelling[word]
    return None


def _spellings(actions: Sequence[str]) -> Iterator[dict[str, int]]:
    """Yield spellings of actions, the closest first: words, first letters, other words."""
    yield {action.lower(): index for index, action in enumerate(actions)}
    yield {action[:1].lower(): index for index, action in reversed(list(enumerate(actions)))}
    # A bet is a call only where nobody can raise, and a pass only where nobody can fold.
    is_call = [action in ("call", "check", "c") for action in actions]
    for index in sorted(range(len(actions)), key=is_call.__getitem__):
        yield dict.fromkeys(WORDS.get(actions[index].lower(), "").split(), index)
