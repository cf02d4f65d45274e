"""Compiler of games of private hands that are cut into a trunk and chunks."""
