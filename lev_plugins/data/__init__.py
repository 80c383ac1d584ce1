"""fairseq datasets: noisy sources (here), drafts and labels."""
