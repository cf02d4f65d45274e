"""What a game will take, counted or estimated before it is compiled."""
