"""Numba kernels: the compiled inner loops of the solvers, on flat arrays.

Kernels pass over the sequence form of a game, the arrays of ``game.form``
(:class:`~tensorcfr.model.arrays.SequenceForm`), or over a smaller form in which infosets are merged
by symmetry, such as Leduc's suits (``game.merged``).  ``game.tree`` is the same game as a tree of
histories (:class:`~tensorcfr.model.arrays.HistoryTree`): ``parent`` int64 (nodes,), ``first_child``
int64 (nodes + 1,), ``player`` int8 (nodes,), ``infoset`` int64 (nodes,) and ``utility`` float64
(terminals, players).

An iteration of CFR updates each player in three phases:

1. The *payoff product* computes the counterfactual payoffs of the player's sequences from the
   opponents' reaches: :func:`tensorcfr.payoff.multiply.payoff_product`.
2. The *backward value pass* goes from the deepest level up.  It computes counterfactual values, and
   updates regrets and strategies: :func:`~tensorcfr.kernels.backward_pass.backward`.
3. The *forward reach pass* goes from the first level down.  If strategies are stored,
   :func:`~tensorcfr.kernels.forward_pass.forward_from_strategies` adds the reaches of the strategy
   just played to the average, and then computes those of the next one.  If they are computed from
   regrets, :func:`~tensorcfr.kernels.forward_pass.forward_from_regrets` computes the reaches before
   it adds them.  Flat games store strategies; games in chunks store them unless
   ``rule.matches_regret``.

Two kernels call these phases: :func:`~tensorcfr.kernels.iteration.iterate` for a flat game, and
:func:`~tensorcfr.kernels.chunk_passes.run_passes` for a game in chunks.  Both are called by
:class:`tensorcfr.solvers.passes.Passes`.

Modules of these passes:

``forward_pass``, ``backward_pass``
    Forward reach pass and backward value pass.
``iteration``, ``chunk_passes``
    Iterations of flat games and of games in chunks.
``local_rule``, ``whole_rules``
    Regret updates: the arithmetic in which variants of CFR differ.
``parts``, ``pass_arrays``, ``shapes``
    Named tuples of the arrays that a pass reads and writes.
``tiles``, ``ties``, ``locked_lanes``, ``packing``, ``barrier``
    Tiles of infosets, rounding, locked infosets, 16-bit storage, and synchronisation of threads.

Other kernels:

``evaluation``
    Expected values, best responses, and strategies from averages.
``traversal``, ``tree_access``, ``sampling_steps``, ``sampling_chance``, ``sampling_plays``,
``sampling_public``
    Monte Carlo CFR, which traverses histories instead of levels.
``random``, ``alias``, ``reservoir``
    Random numbers, draws of outcomes, and samples for networks.
``excessive_gap``, ``triggers``, ``links``, ``exponentials``
    Excessive gap technique, extensive-form correlation, belief DAGs, and a vectorised ``exp``.
"""
