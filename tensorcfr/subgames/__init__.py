"""Subgames: parts of a game that are solved separately and put back."""

from .beliefs import Belief, belief
from .cfr_d import DecomposedSolver, forget_subgames
from .play import Match
from .resolving import Resolution, ResolvedSubgame, resolve
from .roots import Roots, subgame_roots
from .subgame_rules import put_back, subgame

__all__ = [
    "Belief",
    "DecomposedSolver",
    "Match",
    "Resolution",
    "ResolvedSubgame",
    "Roots",
    "belief",
    "forget_subgames",
    "put_back",
    "resolve",
    "subgame",
    "subgame_roots",
]
