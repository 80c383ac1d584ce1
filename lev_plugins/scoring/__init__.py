"""How good a text is, one file per metric: bleu, ter, rouge, wrr, wrr_set, exact_match, gleu, m2 and errant.

BLEU and TER run from 0 to 100, as in sacrebleu; the others from 0 to 1, as in the programs they agree with.
``evaluate`` in these files gives more than the number: the score of each sentence, and of any resample of them.
``labelling`` scores labels, in per cent. ``fairseq_scorers`` and ``validation`` are fairseq's side; the metrics need no
fairseq. The remaining files are what the metrics have in common.
"""
