"""``--bpe chars``: every character is a token, and ▁ stands for a blank."""

from dataclasses import dataclass

from fairseq.data.encoders import register_bpe
from fairseq.data.encoders.characters import Characters
from fairseq.dataclass import FairseqDataclass


@dataclass
class CharsConfig(FairseqDataclass):
    pass


@register_bpe("chars", dataclass=CharsConfig)
class Chars(Characters):
    """fairseq's ``characters``, which its own commands cannot find by that name for want of a dataclass.

    >>> Chars().encode("a cat"), Chars().decode("a ▁ c a t")
    ('a ▁ c a t', 'a cat')
    """
