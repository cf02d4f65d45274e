"""Size of a game, counted or estimated before it is compiled."""
