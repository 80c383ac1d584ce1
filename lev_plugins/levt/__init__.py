"""The Levenshtein Transformer (Gu et al., 2019): model, loss, task, data and decoding."""
