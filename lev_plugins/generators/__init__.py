"""Decoding loops."""
