"""Decoding loops."""

from lev_plugins.generators.counts import ORACLES
from lev_plugins.generators.options import RefinementOptions
from lev_plugins.generators.refinement import RefinementGenerator

__all__ = ["ORACLES", "RefinementGenerator", "RefinementOptions"]
