"""fairseq datasets: sources with noise (here), drafts, labels."""
