"""Separate learning rates for some weights."""
