"""What works around faults of fairseq."""
