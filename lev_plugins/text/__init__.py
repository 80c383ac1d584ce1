"""Plain text and tokens: lines, tokenisers, dictionaries, binarised files."""
