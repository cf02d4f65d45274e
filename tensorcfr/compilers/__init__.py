"""Compilers: convert rules to flat arrays."""

from __future__ import annotations

from .compilation import CompileProgress
from .pipeline import compile_game
from .sizes.sizing import GameSize, game_size

__all__ = ["CompileProgress", "GameSize", "compile_game", "game_size"]
