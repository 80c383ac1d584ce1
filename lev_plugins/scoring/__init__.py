"""How good a text is, one file a metric: bleu, ter, rouge, wrr, wrr_set, exact_match, gleu, m2 and errant.

BLEU and TER run from 0 to 100, as in sacrebleu; the others from 0 to 1, as in the programs they agree with.
``evaluate`` of these files gives more than the number: the score of each sentence, and of any resample of them.
``labelling`` scores labels, in per cent; the remaining files are what the metrics have in common.
"""

from lev_plugins.scoring.bleu import corpus_bleu
from lev_plugins.scoring.evaluation import Evaluation
from lev_plugins.scoring.exact_match import exact_match_rate
from lev_plugins.scoring.gleu import gleu_score
from lev_plugins.scoring.m2 import max_match
from lev_plugins.scoring.rouge import rouge_f1
from lev_plugins.scoring.ter import translation_edit_rate
from lev_plugins.scoring.wrr import recognised_words, word_recognition_rate
from lev_plugins.scoring.wrr_set import word_set_overlap

__all__ = [
    "Evaluation",
    "corpus_bleu",
    "exact_match_rate",
    "gleu_score",
    "max_match",
    "recognised_words",
    "rouge_f1",
    "translation_edit_rate",
    "word_recognition_rate",
    "word_set_overlap",
]
