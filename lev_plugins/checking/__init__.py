"""Typos in the prose of files: ``lev-plugins check``."""
