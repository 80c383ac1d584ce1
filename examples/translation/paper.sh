#!/usr/bin/env bash
# The paper's hyper-parameters (section 4.1, appendices B and C.1) and, where it names none (weight decay, learned
# positions, BERT's initialisation), those of the command that its authors print in fairseq
# (examples/nonautoregressive_translation). Not run at full scale: the scores are unknown.
#
#     TEXT=data/wmt14-en-de SOURCE=en TARGET=de VOCAB=32000 COVERAGE=0.9999 BLEU_TOKENIZE=13a OUT=runs/wmt14-en-de \
#         bash examples/translation/paper.sh
set -euo pipefail
UPDATE_FREQ=${UPDATE_FREQ:-1}  # batches per update: with 8 GPUs, one makes the 65,536 tokens of the paper
MORE_FLAGS=${MORE_FLAGS:-}  # more flags for fairseq-train of the LevT; LEVT_TRAINING and others are fixed below
SCHEDULE="--lr 0.0005 --lr-scheduler inverse_sqrt --warmup-init-lr 1e-7 --warmup-updates 10000 --dropout 0.3
    --update-freq $UPDATE_FREQ"

export OUT=${OUT:-runs/wmt16-ro-en} KIND=${KIND:-bpe} TOKENS=${TOKENS:-8192}
export SIZES=${SIZES:-6 512 2048 8}
export TEACHER_UPDATES=${TEACHER_UPDATES:-300000} TEACHER_TRAINING=$SCHEDULE
export AVERAGE=$OUT/teacher/checkpoint_best.pt  # chosen by validation, not averaged
export LEVT_UPDATES=${LEVT_UPDATES:-300000} LEVT_START= VALID_EVERY=${VALID_EVERY:-5000}
export LEVT_TRAINING="$SCHEDULE --max-tokens $TOKENS --weight-decay 0.01 --encoder-learned-pos --decoder-learned-pos
    --apply-bert-init $MORE_FLAGS"
export BEAM=${BEAM:-4} MAX_ITER=${MAX_ITER:-9} GAMMA=${GAMMA:-0}
bash "$(dirname "$0")/${SCRIPT:-run.sh}"  # or ablations.sh
