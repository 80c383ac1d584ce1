"""What is minimised."""

from lev_plugins.criterions import dual_policy  # noqa: F401  registers
