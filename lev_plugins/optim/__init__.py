"""Separate learning rates for some weights."""

from lev_plugins.optim.scaled_adam import ScaledAdam, scale_learning_rate

__all__ = ["ScaledAdam", "scale_learning_rate"]
