"""Decoding loops."""

from lev_plugins.generators.oracle import ORACLES
from lev_plugins.generators.refinement import RefinementGenerator, RefinementOptions

__all__ = ["ORACLES", "RefinementGenerator", "RefinementOptions"]
