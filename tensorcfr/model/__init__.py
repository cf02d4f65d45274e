"""Data only: the arrays of a compiled game, its labels, payoff operators, policies and locks."""
