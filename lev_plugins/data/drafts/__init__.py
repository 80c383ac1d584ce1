"""Drafts: marks and notes, loading, and the dataset of (source, draft, target)."""
