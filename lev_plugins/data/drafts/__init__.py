"""Drafts: marks and notes on them, the way of a draft through fairseq, and the dataset of (source, draft, target)."""
