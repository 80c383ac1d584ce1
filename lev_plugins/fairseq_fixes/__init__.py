"""Workarounds for faults of fairseq; docs/code.md lists all patches of fairseq and of the process."""
