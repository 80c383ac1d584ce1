"""Noise for plain text, put in before it is tokenised: slips of the finger, of the pen and of the scanner.

A text is white space and words; a word is grapheme clusters, what readers count as one character. Noise changes words,
one slip at a time: an insertion, deletion, substitution, exchange, confusion, run-on or split. What no slip touches,
white space and case included, stays as it was, and no cluster is broken. Of the two rates

- ``word_rate`` alone is the share of all words that are changed, each by one slip;
- ``word_rate`` and ``char_rate``: a changed word of n characters has max(1, n * char_rate) slips in the mean: the whole
  part of n * char_rate, and one more as often as the fraction says;
- ``char_rate`` alone is the number of slips by the number of characters in words, wherever these stand;
- neither, for ``ocr`` and ``confusions``: every confusion as often as the table says.

How many words of a line are changed follows the binomial distribution, as if each were drawn for itself. A word that is
drawn is changed if any of the kinds asked for can change it. If none can (two equal letters cannot be swapped, a word
of one letter loses none, no keyboard has Han characters), another word of the line takes its turn: so the share is one
of *all* words as long as the line has enough that can be changed. Where it has not (a line of one such word, a rate
near 1), there is less noise than asked, never more.

A run-on counts as a change of the word before it; two words in each other's place count as two. No two slips touch
the same character, so that at most half of the characters can be swapped with their neighbours.
"""

from lev_plugins.noise.corrupt import Corruption
from lev_plugins.noise.options import FLAGS, KINDS, NoiseOptions, build_corruption

__all__ = ["FLAGS", "KINDS", "Corruption", "NoiseOptions", "build_corruption"]
