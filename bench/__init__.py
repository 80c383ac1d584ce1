"""Benchmarks: each script prints a table and writes JSON; see README.md."""

from lev_plugins.utils.compatibility import check_environment

check_environment()  # before fairseq is imported: this keeps that quiet
