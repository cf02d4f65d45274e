"""Compiled games on disk."""

from .game_files import load_game, save_game

__all__ = ["load_game", "save_game"]
