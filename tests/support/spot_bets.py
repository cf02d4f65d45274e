"""The chips of all bets of a spot of hold'em, from the sizes in words.

This is a slow reference for the betting of the library, written from docs/holdem.md.  Certificates
list the chips, so the checkers do not compute them.
"""

from __future__ import annotations

import re
from decimal import Decimal
from math import floor, inf
from typing import Any


def bets_of(spot: dict[str, Any]) -> dict[str, list[int]]:
    """Return the raises after each line as a certificate lists them: totals of chips by line."""
    chip = Decimal(str(spot["chip"]))
    pot, stack = (int(Decimal(str(spot[name])) / chip) for name in ("pot", "stacks"))
    first_street, bets = len(spot["board"]) // 2 - 3, {}

    def street(line: str, number: int, paid: int, *, leads: bool) -> None:
        if number < 3 and paid < stack:
            act(line, number, (0, 0), paid, 0, 0, leads)

    def act(
        line: str,
        number: int,
        put: tuple[int, int],
        before: int,
        player: int,
        count: int,
        leads: bool,
    ) -> None:
        """Visit a decision after ``count`` raises; ``put`` are the chips on this street."""
        top = max(put)
        raises = raises_of(number, put, before, player, count, leads)
        if raises:
            bets[line] = [before + amount for amount in raises]
        for amount in raises:
            to = (amount, put[1]) if player == 0 else (put[0], amount)
            act(
                f"{line} {before + amount}".strip(),
                number,
                to,
                before,
                1 - player,
                count + 1,
                leads,
            )
        called = f"{line} call".strip()
        if player == 0 and top == 0:
            act(called, number, put, before, 1, count, leads)
        else:
            street(called, number + 1, before + top, leads=player == 0)

    def raises_of(
        number: int, put: tuple[int, int], before: int, player: int, count: int, leads: bool
    ) -> list[int]:
        bet, all_in = max(put), stack - before
        if bet == all_in:
            return []
        pool, amounts = pot + 2 * (before + bet), set()
        where = ("flop", "turn", "river")[number], ("oop", "ip")[player]
        sizes = size_of(spot["donk"], *where) if leads and player == 0 and not bet else None
        sizes = size_of(spot["raises" if bet else "bets"], *where) if sizes is None else sizes
        for text in sizes.split(","):
            found = re.fullmatch(r"\s*(.*?)(?:(\d+)r)?\s*", text)
            assert found
            size, cap = found.groups()
            if size and not (cap and count > int(cap)):
                amounts.add(amount_of(size, bet, all_in, pool, 3 - number, count))
        if all_in <= bet + rounded(spot["add_allin"] * pool):
            amounts.add(all_in)
        least, kept = min(bet + max(bet - min(put), 1), all_in), list[int]()
        raised = {max(min(amount, all_in), least) for amount in amounts}
        for amount in sorted(raised, reverse=True):
            force = rounded(spot["force_allin"] * (pool + 2 * (amount - bet)))
            to = all_in if all_in <= amount + force else amount
            share = (1 + ((kept[-1] if kept else inf) - bet) / pool) / (1 + (to - bet) / pool)
            if to not in kept and share >= 1 + spot["merging"]:
                kept.append(to)
        return sorted(kept)

    def amount_of(size: str, bet: int, all_in: int, pool: int, streets: int, count: int) -> int:
        """Return the chips on this street of a size."""
        if size == "a":
            return all_in
        if size == "min":
            return bet
        if size.endswith("x"):
            return rounded(bet * float(size[:-1]))
        if size.endswith("c"):
            return bet + rounded(float(size[:-1]) / float(chip))
        number, is_geometric, most = size.rpartition("e")
        share = 1 if size == "pot" else float(most.rstrip("%") or inf) / 100
        if is_geometric:
            left = float(number or streets)
            left = max(left - count + 1, 1) if bet else left
            growth = 2 * ((all_in - bet) / pool) + 1
            share = min((growth ** (1 / left) - 1) / 2, share)
        return bet + rounded(pool * share)

    street("", first_street, 0, leads=False)
    return bets


def rounded(number: float) -> int:
    """Return the nearest whole number; halves are rounded up."""
    return floor(number + 0.5)


def size_of(sizes: Any, street: str, player: str) -> Any:
    """Return the sizes of a street and a player."""
    while isinstance(sizes, dict):
        sizes = sizes.get(street, sizes.get(player))
    return sizes
