"""chrF by sacrebleu, 0 to 100: the F2 score of character n-grams; in fairseq, ``--scoring chrf``.

With a ``word_order`` of 2 it is chrF++, which also counts words and pairs of words. White space does not count.
"""

from collections.abc import Sequence

from sacrebleu.metrics import CHRF

from lev_plugins.scoring.evaluation import Additive, References, by_sacrebleu
from lev_plugins.utils.ranges import bounded


def evaluate(
    references: References,
    texts: Sequence[str],
    char_order: int = CHRF.CHAR_ORDER,
    word_order: int = CHRF.WORD_ORDER,
    lowercase: bool = False,
) -> Additive:
    """Score texts by chrF, or by chrF++ with a ``word_order``.

    >>> reference, text = "the cat sat on the mat", "the cat sat on a mat"
    >>> evaluate([reference], [text]).describe(), evaluate([reference], [text], word_order=2).describe()
    ('chrF2 = 65.98', 'chrF2++ = 67.44')
    """
    bounded("--char-order", char_order, 1)
    bounded("--word-order", word_order, 0)
    metric = CHRF(char_order, word_order, lowercase=lowercase)
    return by_sacrebleu(f"chrF{metric.beta}{'+' * word_order}", metric, references, texts)
