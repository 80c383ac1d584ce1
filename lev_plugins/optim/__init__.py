"""Separate learning rates for some weights."""

from lev_plugins.optim.scaled_adam import ScaledAdam, check_learning_rate, scale_learning_rate

__all__ = ["ScaledAdam", "check_learning_rate", "scale_learning_rate"]
