#!/usr/bin/env bash
# The rows of BERT in the paper's Tables 1 and 3: EncT5's heads on a BERT. Not run. See paper.sh for TASKS and DATA.
#     MODEL=models/bert-base-uncased OUT=runs/glue-bert bash examples/labelling/bert.sh
#     TASKS=udpos DATA=data MODEL=models/bert-base-multilingual-cased EPOCHS=10 POOL=mean OUT=runs/udpos-bert \
#         bash examples/labelling/bert.sh
source "$(dirname "$0")/../once.sh"
OUT=${OUT:-runs/glue-bert}  # folder of all output; settings other than TASKS need another one
source "$HERE/tasks.sh"  # with the settings TASKS, DATA and MODEL
POOL=${POOL:-cls}  # the heads read BERT's [CLS], or the mean of the pieces of a word
EPOCHS=${EPOCHS:-3} LR=${LR:-2e-5}  # over the epochs, the rate rises and falls to zero; BERT's paper takes the best of
# 2e-5, 3e-5, 4e-5 and 5e-5 on valid, for each task
same_settings DATA MODEL STSB POOL EPOCHS LR TRAIN_FLAGS

train() {  # train DATA SAVE_DIR: as in BERT's own code; its rate falls to zero (BERT's paper, section 4.1)
    local texts; texts=$(python -c 'import json, sys; print(json.load(sys.stdin)["train_examples"])' <"$1/info.json")
    local updates=$((EPOCHS * ((texts + 31) / 32)))
    fairseq-train "$1" --save-dir "$2" "${FAIRSEQ[@]}" --log-format simple --task text_labelling --label-kind $kind \
        --arch enct5 --backbone "$BACKBONE" --criterion labelling --pool "$POOL" --optimizer adam \
        --adam-betas '(0.9,0.999)' --adam-eps 1e-6 --weight-decay 0.01 --clip-norm 1 --dropout 0.1 \
        $(linear_rate "$LR" $((updates / 10)) $updates) $([ "$CPU" ] || echo --bf16) --batch-size 32 \
        --required-batch-size-multiple 1 $(checkpoint_every 5000) --best-checkpoint-metric $metric \
        --maximize-best-checkpoint-metric $TRAIN_FLAGS |& tee -a "$2.log"
}

once backbone lev-plugins import-pretrained "$MODEL" "$BACKBONE"
for name in ${TASKS//,/ }; do
    task $name; out="$OUT/$name"
    once $name-labels labels "$out/labels"
    once $name-bert train "$out/labels" "$out/bert"
    once $name-scores scores "$out/bert/checkpoint_best.pt" "$out/labels"
done
tail -n +1 "$OUT"/*/*.scores
