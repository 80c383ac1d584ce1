"""Workarounds for faults of fairseq."""
