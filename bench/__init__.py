"""Measurements against peers; ``python bench/run.py`` runs them all."""
