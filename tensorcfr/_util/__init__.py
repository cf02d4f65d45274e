"""Small helpers that know nothing of games: memory, machine, files, texts."""
