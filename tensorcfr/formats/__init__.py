"""Games that were written for other programs, as rules."""
