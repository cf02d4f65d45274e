"""Games of private hands, cut into a trunk and chunks."""
