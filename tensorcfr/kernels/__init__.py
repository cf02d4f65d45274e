"""Numba kernels: the compiled inner loops of the solvers, on flat arrays.

Kernels pass over the sequence form of a game, the arrays of ``game.form``
(:class:`~tensorcfr.model.arrays.SequenceForm`).  ``game.tree`` is the same game as a tree of
histories (:class:`~tensorcfr.model.arrays.HistoryTree`): ``parent`` int64 (nodes,), ``first_child``
int64 (nodes + 1,), ``player`` int8 (nodes,), ``infoset`` int64 (nodes,) and ``utility`` float64
(terminals, players).

An iteration of CFR updates each player in three phases:

1. The *payoff product* computes the counterfactual payoffs of the player's sequences from the
   opponents' reaches: :func:`tensorcfr.payoff.multiply.payoff_product`.
2. The *backward value pass* goes from the deepest level up.  It computes counterfactual values, and
   updates regrets and strategies: :func:`~tensorcfr.kernels.backward_pass.backward`.
3. The *forward reach pass* goes from the first level down.  It computes the player's own reaches,
   and adds them to the average strategy:
   :func:`~tensorcfr.kernels.forward_pass.forward_from_strategies` for stored strategies,
   :func:`~tensorcfr.kernels.forward_pass.forward_from_regrets` for strategies computed from
   regrets.

Two drivers call these phases: :func:`~tensorcfr.kernels.iteration.iterate` for a flat game, and
:func:`~tensorcfr.kernels.chunk_passes.run_passes` for a game in chunks.

Modules of these passes:

``descent``, ``ascent``
    Forward reach pass and backward value pass.
``iteration``, ``chunks``
    Drivers of flat games and of games in chunks.
``local_rule``, ``whole_rules``
    Regret updates: the arithmetic in which variants of CFR differ.
``parts``, ``pass_arrays``, ``shapes``
    Named tuples of the arrays that a pass reads and writes.
``tiles``, ``ties``, ``locks``, ``packing``, ``barrier``
    Tiles of infosets, rounding, locked infosets, 16-bit storage, and synchronisation of threads.

Other kernels:

``evaluation``
    Expected values, best responses, and strategies from averages.
``traversal``, ``tree_access``, ``sampling``, ``sampling_chance``, ``sampling_plays``,
``sampling_public``
    Monte Carlo CFR, which traverses histories instead of levels.
``random``, ``alias``, ``reservoir``
    Random numbers, draws of outcomes, and samples for networks.
``excessive_gap``, ``triggers``, ``links``, ``exponentials``
    Excessive gap technique, extensive-form correlation, belief DAGs, and a vectorised ``exp``.
"""
