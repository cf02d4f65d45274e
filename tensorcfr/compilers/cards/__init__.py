"""Games of cards: betting x boards x hands, compiled into chunks."""
