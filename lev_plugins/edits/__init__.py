"""The core of the package: edits as pure functions on padded token tensors.

This room uses no fairseq, no models and no files. Every function leaves its arguments unchanged, runs on the device of
its inputs and never reads a number back from it, so that training does not stall a GPU. The exceptions are
``source_positions`` and ``require_room``.

Shapes: B batch, N length of the edited sequence, T length of the target, K insertions in one slot.
A *slot* is the gap between two neighbouring tokens: a row of N tokens has N - 1 slots.
"""
