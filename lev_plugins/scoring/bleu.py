"""BLEU by sacrebleu, 0 to 100; in fairseq, ``--scoring sacrebleu``.

As in sacrebleu, a text whose sentences all have fewer than four words has BLEU 0, even against itself. Single sentences
are scored with effective order, like sacrebleu's ``sentence_bleu``.
"""

from collections.abc import Sequence
from dataclasses import replace

from sacrebleu.metrics import BLEU

from lev_plugins.scoring.evaluation import Additive, References, by_sacrebleu, formula_of
from lev_plugins.utils.errors import UserError


def evaluate(references: References, texts: Sequence[str], tokenize: str = "13a", lowercase: bool = False) -> Additive:
    """Score texts by BLEU, with one of sacrebleu's tokenisers.

    >>> round(evaluate(["the cat sat on the mat"], ["the cat sat on a mat"]).score, 2)
    53.73
    >>> evaluate([""], [""]).score
    0.0
    """
    try:
        metric, of_sentences = (
            BLEU(tokenize=tokenize, lowercase=lowercase, force=True, effective_order=order) for order in (False, True)
        )
    except (ImportError, RuntimeError, OSError) as error:  # some need packages, which they name, or a download
        raise UserError(f"the BLEU tokeniser {tokenize} cannot be loaded: {error}") from error
    corpus = by_sacrebleu("BLEU", metric, references, texts)
    length, reference_length = (int(number) for number in corpus.sums[:2])
    details: dict[str, float] = {"words": length, "reference words": reference_length}
    return replace(corpus, sentences=formula_of(of_sentences)(corpus.statistics), details=details)
