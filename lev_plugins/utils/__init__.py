"""Errors, files, ranges of flags, and model folders."""
