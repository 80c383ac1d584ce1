"""Labelled texts: reading, the prepared folder, and the dataset with packing."""
