"""What the three systems share under fairseq: data, checkpoints, batches, precision, and patches of fairseq."""
