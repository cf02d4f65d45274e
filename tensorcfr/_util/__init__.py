"""Small helpers that do not depend on games: memory, machine, files, texts."""
