"""Pre-trained encoders and decoders of transformers: import, weights and modules."""
