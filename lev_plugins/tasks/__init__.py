"""The fairseq tasks, which combine data, decoding and models."""
