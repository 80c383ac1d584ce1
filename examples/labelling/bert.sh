#!/usr/bin/env bash
# The rows of BERT in the paper's Tables 1 and 3: EncT5's heads on a BERT. Not run. See paper.sh for TASKS and DATA.
#     MODEL=models/bert-base-uncased OUT=runs/glue-bert bash examples/labelling/bert.sh
#     TASKS=udpos DATA=data MODEL=models/bert-base-multilingual-cased EPOCHS=10 POOL=mean OUT=runs/udpos-bert \
#         bash examples/labelling/bert.sh
set -euo pipefail
source "$(dirname "$0")/../once.sh"
source "$(dirname "$0")/tasks.sh"

TASKS=${TASKS:-mnli,qqp,qnli,mrpc,rte,sst2,cola,stsb} DATA=${DATA:-data/glue}
MODEL=${MODEL:?is missing: the folder of a BERT, as downloaded from huggingface.co}
OUT=${OUT:-runs/glue-bert}  # folder of all output; settings other than TASKS need another one
POOL=${POOL:-cls}  # the heads read BERT's [CLS], or the mean of the pieces of a word
BATCH=${BATCH:-32} EPOCHS=${EPOCHS:-3}  # texts per update; epochs, over which the rate rises and falls to zero
LR=${LR:-2e-5}  # BERT's paper takes the best of 2e-5, 3e-5, 4e-5 and 5e-5 on valid, for each task
VALID_EVERY=${VALID_EVERY:-5000}  # updates between two checkpoints; the one with the best score on valid is tested
FLAGS=${FLAGS:-}  # more flags for every fairseq-train, such as --max-update 2

export OMP_NUM_THREADS=${THREADS:-2}
DEVICE=$(command -v nvidia-smi >/dev/null || echo --cpu)
BACKBONE="$OUT/backbone"

train() {  # train DATA SAVE_DIR: as in BERT's own code; its rate falls to zero (BERT's paper, section 4.1)
    local examples=$(sed -n 's/.*"train_examples": *\([0-9]*\).*/\1/p' "$1/info.json")
    local updates=$((EPOCHS * ((examples + BATCH - 1) / BATCH)))
    fairseq-train "$1" --save-dir "$2" --user-dir "$(lev-plugins path)" $DEVICE --no-progress-bar --log-format simple \
        --optimizer adam --adam-betas '(0.9,0.999)' --adam-eps 1e-6 --weight-decay 0.01 --clip-norm 1 --lr "$LR" \
        --lr-scheduler polynomial_decay --warmup-updates $((updates / 10)) --max-update $updates \
        --total-num-update $updates --dropout 0.1 $([ "$DEVICE" ] || echo --bf16) --batch-size "$BATCH" \
        --required-batch-size-multiple 1 --no-epoch-checkpoints --validate-interval 1000000 \
        --validate-interval-updates "$VALID_EVERY" --save-interval-updates "$VALID_EVERY" --keep-interval-updates 1 \
        --task text_labelling --label-kind $kind --arch enct5 --backbone "$BACKBONE" --criterion labelling \
        --pool "$POOL" --best-checkpoint-metric $metric --maximize-best-checkpoint-metric $FLAGS |& tee -a "$2.log"
}

once backbone lev-plugins import-pretrained "$MODEL" "$BACKBONE"
for name in ${TASKS//,/ }; do
    task $name; out="$OUT/$name"
    once $name-labels labels "$out/labels"
    once $name-bert train "$out/labels" "$out/bert"
    once $name-scores scores "$out/bert/checkpoint_best.pt" "$out/labels"
done
tail -n +1 "$OUT"/*/*.scores
