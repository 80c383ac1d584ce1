"""Decoding loops."""

from lev_plugins.generators.refinement import RefinementGenerator, RefinementOptions

__all__ = ["RefinementGenerator", "RefinementOptions"]
