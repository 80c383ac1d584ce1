"""The core of the package: edits as pure functions on padded token tensors.

This room uses no fairseq, no models and no files. Every function leaves its arguments unchanged and runs on the device
of its inputs. Only ``source_positions`` and ``require_draft_fits`` copy values to the host, which waits for a GPU.

Shapes: B batch, N length of the edited sequence, S of the source, T of the target, K insertions in one slot.
A *slot* is the gap between two neighbouring tokens: a row of N tokens has N - 1 slots.
"""
