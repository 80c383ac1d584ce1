"""How good a text is: one file a metric, each a plain function."""

from lev_plugins.scoring.wrr import recognised_words, word_recognition_rate

__all__ = ["recognised_words", "word_recognition_rate"]
