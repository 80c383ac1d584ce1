"""Words by their letters: candidates for misspelt words, vectors and scores of words that a dictionary lacks."""
