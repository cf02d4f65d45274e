"""Hands of no-limit hold'em, played at random and settled in the slowest way.

Amounts are counted chip by chip from the rules of the game; ranks of hands are eval7's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import eval7

STREETS = (0, 3, 1, 1)
"""Cards of the board that are dealt before each street."""


@dataclass
class SlowHand:
    """A random hand: its actions in the PHH notation, and everything that follows from them."""

    players: int
    rng: Random
    actions: list[str] = field(default_factory=list)
    decisions: list[tuple[int, int, float, float, str, float]] = field(default_factory=list)
    """Seat, street, pot, chips to call, action, chips put in."""

    def __post_init__(self) -> None:
        n, rng = self.players, self.rng
        deck = [str(card) for card in eval7.Deck().cards]
        rng.shuffle(deck)
        self.cards = [deck.pop() + deck.pop() for _ in range(n)]
        self.board: list[str] = []
        self.stacks = [rng.choice((30, 60, 100, 101, 200)) for _ in range(n)]
        self.put, self.street_put = [0] * n, [0] * n
        self.folded: set[int] = set()
        for k, cards in enumerate(self.cards):
            self.actions.append(f"d dh p{k + 1} {cards}")
        # The small blind is first, and acts last before the flop; of two players it is the second.
        small, big = (1, 0) if n == 2 else (0, 1)
        self.pay(small, 1)
        self.pay(big, 2)
        self.play(deck, first=(big + 1) % n)
        self.won = self.settle()

    def pay(self, seat: int, chips: int) -> None:
        self.put[seat] += chips
        self.street_put[seat] += chips

    def left(self, seat: int) -> int:
        return self.stacks[seat] - self.put[seat]

    def live(self) -> list[int]:
        return [seat for seat in range(self.players) if seat not in self.folded]

    def play(self, deck: list[str], first: int) -> None:
        for street, n_cards in enumerate(STREETS):
            if n_cards:
                dealt = [deck.pop() for _ in range(n_cards)]
                self.board += dealt
                self.actions.append("d db " + "".join(dealt))
                self.street_put = [0] * self.players
                first = 0
            self.bet(street, first)
            if len(self.live()) == 1:
                return

    def bet(self, street: int, first: int) -> None:
        """One round of betting: everybody who can act must have answered the last raise."""
        order = [(first + k) % self.players for k in range(self.players)]
        raised_by, least = 2 if street == 0 else 0, 2
        waiting = [seat for seat in order if seat not in self.folded and self.left(seat)]
        while waiting:
            seat = waiting.pop(0)
            highest = max(self.street_put)
            call = min(highest - self.street_put[seat], self.left(seat))
            rivals = [k for k in self.live() if k != seat and self.left(k)]
            if len(self.live()) == 1 or (not rivals and not call):
                continue
            pot = sum(self.put)
            to_least = highest + max(raised_by, least)
            top = self.street_put[seat] + self.left(seat)
            choices = ["cc", "cc"] + (["f"] if call else [])
            # A raise that nobody could call in part is none.
            if top >= to_least and any(self.street_put[k] + self.left(k) > highest for k in rivals):
                choices += ["cbr"]
            word = self.rng.choice(choices)
            chips, name = 0, "fold"
            if word == "cc":
                chips, name = call, "call" if call else "check"
            elif word == "cbr":
                to = self.rng.choice([to_least, min(to_least + 7, top), top])
                chips, name = to - self.street_put[seat], "raise" if highest else "bet"
                raised_by = max(raised_by, to - highest)
                after = [(seat + k) % self.players for k in range(1, self.players)]
                waiting = [k for k in after if k not in self.folded and self.left(k)]
            else:
                self.folded.add(seat)
            self.decisions.append((seat, street, float(pot), float(call), name, float(chips)))
            self.actions.append(f"p{seat + 1} {word}" + (f" {to}" if word == "cbr" else ""))
            self.pay(seat, chips)

    def settle(self) -> list[float]:
        """Pay the pot out, one chip of every player at a time."""
        won = [-float(put) for put in self.put]
        live = self.live()
        board = [eval7.Card(card) for card in self.board]
        rank = {}
        for seat in live:
            hand = [eval7.Card(self.cards[seat][:2]), eval7.Card(self.cards[seat][2:])]
            rank[seat] = eval7.evaluate(hand + board) if len(live) > 1 else 1
        for chip in range(max(self.put)):
            payers = [seat for seat in range(self.players) if self.put[seat] > chip]
            # A chip that nobody else who is left has matched goes back to its owner.
            competing = [seat for seat in payers if seat in rank] or payers
            best = max(rank.get(seat, 0) for seat in competing)
            winners = [seat for seat in competing if rank.get(seat, 0) == best]
            for seat in winners:
                won[seat] += len(payers) / len(winners)
        return won

    @property
    def text(self) -> str:
        """The hand in the PHH format; cards are shown where betting has ended."""
        actions = list(self.actions)
        if len(self.live()) > 1:
            last = max(k for k, a in enumerate(actions) if a.split()[1] in ("f", "cc", "cbr"))
            shown = [f"p{seat + 1} sm {self.cards[seat]}" for seat in self.live()]
            actions[last + 1 : last + 1] = shown
        zeros = ", ".join(["0"] * self.players)
        blinds = ", ".join(["1", "2", *["0"] * (self.players - 2)])
        return (
            f"variant = 'NT'\nantes = [{zeros}]\nblinds_or_straddles = [{blinds}]\nmin_bet = 2\n"
            f"starting_stacks = {self.stacks}\nactions = {actions}\n"
        )
