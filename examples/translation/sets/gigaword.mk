# English Gigaword: an article's first sentence to its headline; 3,803,957 pairs, 189,651 for validation, 1,951 for the
# test. NOT RUN at full scale. The text (TEXT=DIR) is train, valid, test .article and .title; a joint BPE of 32,000.
# ROUGE is that of the package rouge-score, not the Perl script of older papers. The checkpoint is chosen by ROUGE-2, as
# in the paper; to save time, on the first 500 batches of the validation set.
include $(HERE)/sets/paper.mk
SOURCE := article
TARGET := title
VOCAB := 32000
COVERAGE := 0.9999
METRIC := rouge
LEVT_FLAGS := --max-valid-steps 500 --eval-metrics rouge2 --best-checkpoint-metric rouge2
