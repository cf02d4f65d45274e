"""What the arguments that are part of the model must be; see :mod:`tensorcfr._util.arguments`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from .._util.arguments import Kind
from .game import COMPILED, CompiledGame
from .team_game import TeamGame

Compiled = Annotated[CompiledGame, COMPILED]
# Names of both kinds of games are alike where strategies are concerned.
Played = Annotated[
    CompiledGame, Kind((CompiledGame, TeamGame), "a compiled game, or a game of two teams")
]
LOCKS = Kind((Mapping,), "a mapping of infoset labels to actions and probabilities")
STRATEGIES = Kind((Mapping,), "a policy, or probabilities by infoset label and action label")
