"""Noise for plain text, added before tokenisation: slips of typing, writing and scanning.

A text consists of white space and words; a word consists of grapheme clusters, what readers count as one character.
Noise changes words one slip at a time: an insertion, deletion, substitution, exchange, confusion, run-on or split. All
else, white space and case included, stays as it was, and no cluster is broken. The two rates:

- ``word_rate`` alone is the share of all words to change, each by one slip;
- with ``word_rate`` and ``char_rate``, a changed word of n characters has max(1, n * char_rate) slips on average: the
  integer part of n * char_rate, and one more with the probability of the fraction;
- ``char_rate`` alone is the number of slips per character that is not white space;
- without either, ``ocr`` and ``confusions`` make every confusion at the rate of the table.

The number of changed words of a line follows the binomial distribution, as if each word were drawn independently. A
drawn word is changed if any requested kind can change it. Otherwise (two equal letters cannot be swapped, a word of one
letter cannot lose it, no keyboard has Han characters) another word of the line is drawn: the share is one of all
words that the options permit, as long as the line has enough words that can be changed. If it does not (a line of one
such word, a rate near 1), there is less noise than requested, never more.

A run-on counts as a change of the word before it; two exchanged words count as two. No two slips touch the same
character, so there are at most half as many swaps as characters.
"""

from lev_plugins.noise.corrupt import Corruption, build_corruption
from lev_plugins.noise.options import NOISE_FLAGS, NOISE_KINDS, NoiseOptions

__all__ = ["NOISE_FLAGS", "NOISE_KINDS", "Corruption", "NoiseOptions", "build_corruption"]
