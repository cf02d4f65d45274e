"""Hands out: plays of spots as hands; hands as PHH, and as the text of PokerStars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from .._util.argument_checks import Kind, Several, Text, Where, checked
from .._util.extras import needs
from .._util.files import replacing
from ..analysis.simulation import Plays
from ..formats.hand_histories import GAMES_OF_VARIANTS
from ..games.poker.deck import CARDS
from ..games.poker.spot import Spot
from ..model.arrays import CHANCE
from ..model.compiled_game import CompiledGame
from .played_hands import BET, BOARD_CARDS, CALL, FOLD, STREETS, Hand, Hands, replay
from .site_texts import GAME_NAMES, SYMBOLS
from .spot_decisions import nodes_of_spot

ENDINGS = (".phh", ".phhs", ".txt")
"""Suffixes of the names of files that :func:`save_hands` writes."""
_START = datetime(2000, 1, 1)
"""Time of the first hand in a text, which must have times; later hands follow by the minute."""


@checked()
def hands_of_plays(
    plays: Annotated[Plays, Kind((Plays,), "plays: simulate makes them")],
    names: Annotated[Sequence[str], Several(Text(100), length=(2,))] = ("oop", "ip"),
    *,
    source: Annotated[str, Text(1000)] = "plays",
) -> list[Hand]:
    """Return plays of a spot as hands.

    A hand needs a beginning before the flop.  Each player posts an ante; the player out of position
    is the big blind, the other one calls, and both check on the streets before the spot.  Antes and
    blinds add up to the pot of the spot.  The big blind is that of the spot, or two of its smallest
    chips.

    Args:
        plays: Plays of a spot of two players.
        names: Names of the players.
        source: Name of the file that the hands are for.

    Raises:
        ValueError: The game is not such a spot, or its pot is too small.
        MissingExtraError: PokerKit is not installed; names the extra.
    """
    nodes = nodes_of_spot(plays.game)
    assert plays.hands is not None
    hands = []
    for play in range(len(plays)):
        path = [node for node in plays.nodes[play].tolist() if node >= 0]
        labels = [edge.label for edge in nodes.path(path[-1])]
        held = [nodes.hands[k][hand] for k, hand in enumerate(plays.hands[play].tolist())]
        hands.append(hand_of_steps(plays.game, labels, held, names, source=source, index=play + 1))
    return hands


def hand_of_steps(
    game: CompiledGame,
    steps: Sequence[str],
    cards: Sequence[str],
    names: Sequence[str],
    *,
    source: str,
    index: int,
) -> Hand:
    """Return one play of a spot as a hand; see :func:`hands_of_plays`.

    Args:
        game: The spot.
        steps: Labels of the actions and cards.
        cards: Hole cards of both players.
        names: Names of the players.
        source: Name of the file.
        index: Number of the hand in the file, from 1.
    """
    pokerkit = needs("pokerkit", "hands")
    nodes = nodes_of_spot(game)
    rules = nodes.rules
    assert isinstance(rules, Spot)
    chip, half = rules.betting.chip, Decimal(str(rules.pot)) / 2
    big = Decimal(str(rules.options.get("big_blind", 2 * chip)))
    if big > half:
        raise ValueError(
            f"a hand of this spot needs a big blind of at most half of the pot, {half}, not {big}"
        )
    board = "".join(CARDS[card] for card in rules.board)
    actions = [f"d dh p{k + 1} {hand}" for k, hand in enumerate(cards)] + ["p2 cc", "p1 cc"]
    for street in range(rules.street + 1):
        first, last = BOARD_CARDS[street : street + 2]
        actions.append(f"d db {board[2 * first : 2 * last]}")
        if street < rules.street:
            actions += ["p1 cc", "p2 cc"]
    state, node, dealt, is_over = rules.root(), 0, [], False
    for step in steps:
        actor = nodes.player(node)
        if actor == CHANCE:
            dealt.append((len(actions), step))
            actions.append(f"d db {step}")
        else:
            word = {"fold": "f", "check": "cc", "call": "cc"}.get(step)
            amount = (rules.betting.raised_to(state, step) if word is None else 0) * chip
            actions.append(f"p{actor + 1} {word or f'cbr {amount.normalize():f}'}")
            is_over = step == FOLD
        state = rules.next(state, None if actor == CHANCE else step)
        node = next(edge.node for edge in nodes.children(node) if edge.label == step)
    if not is_over:
        last_move = max(k for k, action in enumerate(actions) if action.split()[1] in ("cc", "cbr"))
        shown = [f"p{k + 1} sm {hand}" for k, hand in enumerate(cards)]
        actions[last_move + 1 : last_move + 1] = shown
    stack = Decimal(str(rules.stacks)) + half
    variants = [name for name, known in GAMES_OF_VARIANTS.items() if known == rules.game]
    if not variants:
        raise ValueError(f"hands of {rules.game} have no format")
    history = pokerkit.HandHistory(
        variant=variants[0],
        ante_trimming_status=True,
        antes=[half - big] * 2,
        blinds_or_straddles=[big / 2, big],
        min_bet=big,
        starting_stacks=[stack] * 2,
        actions=actions,
        players=list(names),
        hand=index,
    )
    return replay(history, source, index)


@checked()
def phh_text(hands: Hands) -> str:
    """Write hands in the PHH format, each under its number ``[1]``, ``[2]``, ...

    Args:
        hands: The hands.

    Raises:
        MissingExtraError: PokerKit is not installed; names the extra.
    """
    parts = [f"[{number}]\n{_phh(hand)}\n" for number, hand in enumerate(hands, start=1)]
    return "\n".join(parts)


def _phh(hand: Hand) -> str:
    pokerkit = needs("pokerkit", "hands")
    stacks = zip(hand.stacks, hand.won, strict=True)
    finite = all(stack.is_finite() for stack in hand.stacks)
    history = pokerkit.HandHistory(
        variant=hand.variant,
        antes=list(hand.antes),
        blinds_or_straddles=list(hand.blinds),
        min_bet=hand.min_bet,
        starting_stacks=list(hand.stacks),
        actions=list(hand.actions),
        players=list(hand.players),
        hand=int(hand.name) if hand.name.isdigit() else hand.name or None,
        currency=hand.currency or None,
        finishing_stacks=[s + Decimal(str(won)) for s, won in stacks] if finite else None,
    )
    return str(history.dumps())


@checked()
def stars_text(
    hands: Hands,
    *,
    hero: Annotated[str | None, Text(100)] = None,
    table: Annotated[str, Text(100)] = "tensorcfr",
) -> str:
    """Write hands in the form of PokerStars, which trackers read.

    Args:
        hands: The hands.
        hero: Player whose hole cards the text begins with; others' are in it if they were shown.
            None for all known cards.
        table: Name of the table.

    Raises:
        ValueError: A hand has unknown stacks.
    """
    parts = []
    for number, hand in enumerate(hands, start=1):
        if not all(stack.is_finite() for stack in hand.stacks):
            raise ValueError(f"hands: hand {number} has unknown stacks")
        time = _START + timedelta(minutes=number - 1)
        name = hand.name if hand.name.isdigit() else str(number)
        parts.append("\n".join(_StarsHand(hand).lines(name, time, hero, table)) + "\n\n\n")
    return "".join(parts)


class _StarsHand:
    """Text of a hand in the form of PokerStars.

    Args:
        hand: The hand.
    """

    def __init__(self, hand: Hand) -> None:
        self.hand = hand
        self._symbol = {code: symbol for symbol, code in SYMBOLS.items()}.get(hand.currency, "")
        order = -1 if len(hand.players) == 2 else 1
        self._antes, self._blinds = hand.antes[::order], hand.blinds[::order]

    def chips(self, amount: Any) -> str:
        """Format an amount."""
        text = f"{Decimal(str(amount)).normalize():f}"
        return f"{self._symbol}{text}"

    def lines(self, name: str, time: datetime, hero: str | None, table: str) -> Iterator[str]:
        """Yield the lines of the text."""
        hand = self.hand
        count = len(hand.players)
        small, big = self.chips(hand.min_bet / 2), self.chips(hand.min_bet)
        currency = f" {hand.currency}" if self._symbol else ""
        yield (
            f"PokerStars Hand #{name}:  {GAME_NAMES[hand.variant]} ({small}/{big}{currency}) - "
            f"{time:%Y/%m/%d %H:%M:%S} ET"
        )
        yield f"Table '{table}' {count}-max Seat #{count} is the button"
        for seat, player in enumerate(hand.players):
            yield f"Seat {seat + 1}: {player} ({self.chips(hand.stacks[seat])} in chips)"
        paid = [Decimal(0)] * count
        yield from self._posts(paid)
        yield "*** HOLE CARDS ***"
        for player, cards in zip(hand.players, hand.cards, strict=True):
            if cards and hero in (None, player):
                yield f"Dealt to {player} [{_spaced(cards)}]"
        yield from self._played(paid)
        yield from self._ended(paid)

    def _posts(self, paid: list[Decimal]) -> Iterator[str]:
        for seat, ante in enumerate(self._antes):
            if ante:
                paid[seat] += ante
                yield f"{self.hand.players[seat]}: posts the ante {self.chips(ante)}"
        big_seat = 0 if len(paid) == 2 else 1
        small_seat = 1 - big_seat
        for seat in (small_seat, big_seat, *range(2, len(paid))):
            if blind := abs(self._blinds[seat]):
                paid[seat] += blind
                word = "small blind" if seat == small_seat else "big blind"
                if seat > 1 and self._blinds[seat] > 0:
                    word = "button blind" if seat == len(paid) - 1 else "straddle"
                yield f"{self.hand.players[seat]}: posts {word} {self.chips(blind)}"

    def _played(self, paid: list[Decimal]) -> Iterator[str]:
        """Yield the actions and the streets, and add the payments to ``paid``."""
        hand, street, bets = self.hand, 0, list(map(abs, self._blinds))
        for decision in hand.decisions:
            if decision.street != street:
                yield from self._streets(street, decision.street)
                street, bets = decision.street, [Decimal(0)] * len(paid)
            amount = Decimal(str(decision.amount))
            before, highest = bets[decision.seat], max(bets)
            paid[decision.seat] += amount
            bets[decision.seat] += amount
            text = {FOLD: "folds", "check": "checks"}.get(decision.action)
            if decision.action == CALL:
                text = f"calls {self.chips(amount)}"
            elif decision.action == BET:
                text = f"bets {self.chips(amount)}"
            elif text is None:
                more = before + amount - highest
                text = f"raises {self.chips(more)} to {self.chips(before + amount)}"
            if amount and paid[decision.seat] >= hand.stacks[decision.seat]:
                text += " and is all-in"
            yield f"{hand.players[decision.seat]}: {text}"
        # An uncalled bet goes back to the player who made it.
        ordered = sorted(bets)
        if ordered[-1] > ordered[-2]:
            seat, back = bets.index(ordered[-1]), ordered[-1] - ordered[-2]
            paid[seat] -= back
            yield f"Uncalled bet ({self.chips(back)}) returned to {hand.players[seat]}"
        if not self._folded_out:
            yield from self._streets(street, len(STREETS) - 1)

    @property
    def _folded_out(self) -> bool:
        folds = sum(decision.action == FOLD for decision in self.hand.decisions)
        return folds == len(self.hand.players) - 1

    def _streets(self, after: int, last: int) -> Iterator[str]:
        board = self.hand.board
        for street in range(after + 1, last + 1):
            first, end = BOARD_CARDS[street - 1 : street + 1]
            if cards := board[2 * first : 2 * end]:
                shown = f"[{_spaced(board[: 2 * first])}] " if first else ""
                yield f"*** {STREETS[street].upper()} *** {shown}[{_spaced(cards)}]"

    def _ended(self, paid: list[Decimal]) -> Iterator[str]:
        hand, folded = (
            self.hand,
            {d.seat: d.street for d in self.hand.decisions if d.action == FOLD},
        )
        showing = [
            seat
            for seat, cards in enumerate(hand.cards)
            if cards and seat not in folded and not self._folded_out
        ]
        if showing:
            yield "*** SHOW DOWN ***"
            for seat in showing:
                yield f"{hand.players[seat]}: shows [{_spaced(hand.cards[seat])}] (shown)"
        collected = [Decimal(str(won)) + amount for won, amount in zip(hand.won, paid, strict=True)]
        for player, amount in zip(hand.players, collected, strict=True):
            if amount > 0:
                yield f"{player} collected {self.chips(amount)} from pot"
        yield "*** SUMMARY ***"
        pot = sum(paid)
        yield f"Total pot {self.chips(pot)} | Rake {self.chips(pot - sum(collected))}"
        if hand.board:
            yield f"Board [{_spaced(hand.board)}]"
        for seat, player in enumerate(hand.players):
            text = self.chips(collected[seat])
            if seat in folded:
                street = STREETS[folded[seat]].title()
                ending = f"folded on the {street}" if folded[seat] else "folded before Flop"
            elif seat in showing:
                result = f"won ({text})" if collected[seat] > 0 else "lost"
                ending = f"showed [{_spaced(hand.cards[seat])}] and {result}"
            else:
                ending = f"collected ({text})" if collected[seat] > 0 else "mucked"
            yield f"Seat {seat + 1}: {player} {ending}"


def _spaced(cards: str) -> str:
    """Return cards with spaces between them."""
    return " ".join(cards[k : k + 2] for k in range(0, len(cards), 2))


@checked()
def save_hands(
    hands: Hands,
    path: Annotated[str | Path, Where()],
    *,
    hero: Annotated[str | None, Text(100)] = None,
) -> Path:
    """Write hands to a file: ``.phh`` or ``.phhs`` in the PHH format, ``.txt`` as PokerStars does.

    Args:
        hands: The hands.
        path: The file.
        hero: As for :func:`stars_text`.

    Returns:
        ``path`` as a Path.

    Raises:
        ValueError: The name of the file has another suffix.
        OSError: The file cannot be written.
        MissingExtraError: PokerKit is not installed; names the extra.
    """
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"path must end in {', '.join(ENDINGS)}, not {path.name!r}")
    text = stars_text(hands, hero=hero) if path.suffix.lower() == ".txt" else phh_text(hands)
    with replacing(path) as file:
        file.write(text.encode())
    return path
