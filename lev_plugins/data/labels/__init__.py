"""Texts and their labels: reading, the prepared folder, and the dataset with packing."""
