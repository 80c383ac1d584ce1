"""Text in, text or labels out: checkpoints at work outside fairseq's own commands."""

from lev_plugins import registration  # noqa: F401  a checkpoint names its task and model
