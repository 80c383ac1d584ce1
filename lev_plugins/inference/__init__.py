"""Text in, text or labels out: using checkpoints outside fairseq's own commands."""

from lev_plugins import registration  # noqa: F401  a checkpoint names its task and model
