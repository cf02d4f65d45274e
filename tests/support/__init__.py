"""What the tests share: slow references, corpora of games, and ways to spoil them."""
