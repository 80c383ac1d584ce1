"""Learning rates of their own for some of the weights."""

from lev_plugins.optim.scaled_adam import ScaledAdam, scale_learning_rate

__all__ = ["ScaledAdam", "scale_learning_rate"]
