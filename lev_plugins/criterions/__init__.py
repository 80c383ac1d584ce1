"""Training losses."""

from lev_plugins.criterions import dual_policy, labelling  # noqa: F401  registers
