#!/usr/bin/env bash
# WAT'17 Small-NMT English-Japanese: 2,000,000 sentences, 1,790 for validation, 1,812 for the test. NOT RUN at full
# scale. Pieces, dictionaries and embeddings are separate, 16,384 a side. The paper takes the task's own BPE
# files; here they are learned from the text. BLEU is counted on the words of KyTea, which must be installed
# (--segment).
#
#   bash examples/translation/recipes/wat17-en-ja.sh --text DIR --out DIR
set -euo pipefail
source "$(dirname "$0")/paper.sh"
reproduce --source en --target ja --separate --kind bpe --vocab 16384 --coverage 0.9995 \
    --segment 'kytea -notags' --bleu-tokenize none "$@"
