"""From binarised text to batches: fairseq datasets and what they need."""
