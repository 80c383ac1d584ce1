"""Measurements against peers; ``python bench/run.py`` runs them all."""

from lev_plugins.compatibility import check_environment

check_environment()  # before fairseq is imported: this keeps that quiet
