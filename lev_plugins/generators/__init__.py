"""Decoding loops."""

from lev_plugins.generators.options import ORACLES, RefinementOptions
from lev_plugins.generators.refinement import RefinementGenerator

__all__ = ["ORACLES", "RefinementGenerator", "RefinementOptions"]
