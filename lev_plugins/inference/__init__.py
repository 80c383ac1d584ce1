"""Text in, text or labels out: using checkpoints and model folders outside fairseq's own commands."""
