#!/usr/bin/env bash
# The paper's sizes (section 4.2, appendix C). Not run at full scale; the triples of WMT 2017 were run on excerpts.
#     TEXT=DIR SOURCE=ro TARGET=en VOCAB=40000 OUT=runs/ape-ro-en bash examples/post_editing/paper.sh
#     TEXT=data/wmt17-ape SYNTHETIC=DIR/500K PARALLEL=DIR/4M SOURCE=src TARGET=pe DRAFT=mt VOCAB=40000 OUT=runs/wmt17 \
#         bash examples/post_editing/paper.sh
#
# A batch has 8,192 tokens on each GPU, so 8 GPUs make the 65,536 of the paper. It names neither its schedule (here, the
# rate falls in a straight line to zero) nor how long it fine-tunes. Of the other sets, whose drafts are made, one half
# trains the weak system; its LSTM has fairseq's default width, and its phrase-based drafts are by Moses: give drafts of
# yours with DRAFT. The pieces are joint; those of WAT'17 are separate in the paper.
set -euo pipefail
export LAYERS=${LAYERS:-6} WIDTH=${WIDTH:-512} FFN=${FFN:-2048} HEADS=${HEADS:-8}
export TOKENS=${TOKENS:-8192} LR=${LR:-0.0005} WARMUP=${WARMUP:-10000} UPDATES=${UPDATES:-300000}
export FINETUNE_UPDATES=${FINETUNE_UPDATES:-50000} FINETUNE_LR=${FINETUNE_LR:-0.0005} VALID_EVERY=${VALID_EVERY:-5000}
export WEAK_WIDTH=${WEAK_WIDTH:-512} TRAIN_FLAGS="--dropout 0.3 ${TRAIN_FLAGS:-}"
bash "$(dirname "$0")/run.sh"
