"""Scores of texts, one file per metric: bleu, sentence_bleu, ter, rouge, wrr, wrr_set, exact_match, gleu, m2, errant.

BLEU (of a text or the mean of sentences) and TER range from 0 to 100, as in sacrebleu; the others from 0 to 1, as in
the programs they agree with. ``evaluate`` in these files also returns the score of each sentence and of any resample of
them. ``labelling`` scores labels, in per cent. ``fairseq_scorers`` and ``validation`` connect the metrics to fairseq,
which they do not need themselves. ``dial`` is for ``lev-plugins sweep``; ``bad_words`` is for the examples. The
remaining files are shared by the metrics.
"""
