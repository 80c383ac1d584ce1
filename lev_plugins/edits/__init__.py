"""Edits: the expert (``expert``), deletions (``actions``), Algorithm 2 (``refinement``), and words by their letters.

``expert``, ``actions``, ``copy_alignment`` and ``source_alignment`` are pure functions on token rows, without fairseq,
which run on the device of their inputs: only ``source_positions`` and ``require_draft_fits`` copy values to the host,
which waits for a GPU. ``refinement`` is plain Python and NumPy. The other modules read dictionaries and have layers.

Shapes: B batch, N length of the edited sequence, S of the source, T of the target, K insertions in one slot.
A *slot* is the gap between two neighbouring tokens: a row of N tokens has N - 1 slots.
"""
