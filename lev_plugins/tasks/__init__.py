"""The fairseq tasks: which data, which decoding, which models belong together."""
