"""Text in, text or labels out: checkpoints at work outside fairseq's own commands."""
