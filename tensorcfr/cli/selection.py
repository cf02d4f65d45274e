"""Which infosets of a solution a command prints: by player, pattern, public node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Annotated

import typer

from ..analysis.public_nodes import find_node
from ..model.game import CompiledGame

Player = Annotated[
    int | None, typer.Option(metavar="NUMBER", help="Only the infosets of this player.")
]
Pattern = Annotated[
    str | None,
    typer.Option(
        metavar="PATTERN",
        help="Only infosets whose label fits, '*' being anything and '?' one character: 'K*'.",
    ),
]
Node = Annotated[
    str | None,
    typer.Option(
        help="Only the infosets of this public node: the label without the hand, 'rr' in Leduc; "
        "'start' for the first (see: tensorcfr chart --list)."
    ),
]


@dataclass(frozen=True)
class Selection:
    """Some infosets of a game; by default all of them."""

    player: int | None = None
    pattern: str | None = None
    node: str | None = None

    def __bool__(self) -> bool:
        return any(part is not None for part in (self.player, self.pattern, self.node))

    def infosets(self, game: CompiledGame) -> Iterator[int]:
        """The infosets, in the game's order.

        Raises:
            ValueError: There is no such player or node, or no label fits the pattern.
        """
        if self.player is not None and not 0 <= self.player < game.n_players:
            raise ValueError(
                f"--player: {game.name} has players 0 to {game.n_players - 1}, not {self.player}"
            )
        found = self._found(game)
        first = list(islice(found, 1))
        if not first:
            raise ValueError(f"{game.name} has no infoset like that: {self}")
        yield from first
        yield from found

    def _found(self, game: CompiledGame) -> Iterator[int]:
        candidates = (
            range(game.n_infosets) if self.node is None else find_node(game, self.node).infosets
        )
        for infoset in candidates:
            if self.player is not None and game.infoset_player[infoset] != self.player:
                continue
            if self.pattern is not None and not fnmatchcase(
                game.infoset_labels[infoset].strip(), self.pattern.strip()
            ):
                continue
            yield infoset

    def __str__(self) -> str:
        said = {"--player": self.player, "--infoset": self.pattern, "--node": self.node}
        return ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)
