#!/usr/bin/env bash
# English Gigaword: an article's first sentence to its headline; 3,803,957 pairs, 189,651 for validation, 1,951 for the
# test. NOT RUN at full scale. The text (--text DIR) is train, valid, test .article and .title; a joint BPE of 32,000.
# ROUGE is that of the package rouge-score, not the Perl script of older papers.
# The checkpoint is chosen by ROUGE-2, as in the paper; for time's sake on the first 500 batches of the validation set.
#
#   bash examples/translation/recipes/gigaword.sh --text DIR --out DIR
set -euo pipefail
source "$(dirname "$0")/paper.sh"
reproduce --source article --target title --kind bpe --vocab 32000 --coverage 0.9999 --metric rouge \
    --levt-flags '--max-valid-steps 500 --eval-metrics rouge2 --best-checkpoint-metric rouge2' "$@"
