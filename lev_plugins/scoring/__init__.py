"""Scores of texts, one file per metric: bleu, ter, rouge, wrr, exact_match, gleu, m2, harm. ``metrics`` is the table.

BLEU and TER range from 0 to 100, as in sacrebleu; the others from 0 to 1, as in the programs they agree with.
``evaluate`` in these files also returns the score of each sentence and of any resample of them (``evaluation``,
``resampling``). ``labelling`` scores labels, in per cent. ``fairseq_scorers`` and ``validation`` connect the metrics to
fairseq, which they do not need themselves.
"""
