"""Plain text and tokens: reading lines, tokenisers, dictionaries, binarised files."""
