#!/usr/bin/env bash
# The comparison of run.sh with a pre-trained BERT, BART or T5, with gates and without.
#     BACKBONE=DIR NOISES=swap SEEDS=1 COPIES=1 OUT=runs/minilm bash examples/denoising/pretrained.sh
set -euo pipefail
source "$(dirname "$0")/../once.sh"
source "$(dirname "$0")/texts.sh"  # with the settings of the text and the noise

BACKBONE=${BACKBONE:?is missing: a folder written by lev-plugins import-pretrained}
SYSTEMS=${SYSTEMS:-none,MCG}  # gates: none, all, MG, CG, MCG (mask, copy, generate)
SEEDS=${SEEDS:-1,2,3}  # one training each
GATE_MIX=${GATE_MIX:-probability} COPY_FROM=${COPY_FROM:-source}  # see --gate-mix and --copy-from
LONGEST=${LONGEST:-0}  # cut texts after N pieces (0: never)
LR_FACTOR=${LR_FACTOR:-0.1}  # learning rate of the pre-trained weights, as a fraction of that of the new ones
UPDATES=${UPDATES:-3000} VALID_EVERY=${VALID_EVERY:-750}  # updates, also between two validations (and checkpoints)
LR=${LR:-0.0015} WARMUP=${WARMUP:-200}  # peak learning rate; updates until then
TRAINING=${TRAINING:---lr $LR --lr-scheduler polynomial_decay --warmup-updates $WARMUP --max-update $UPDATES
    --total-num-update $UPDATES --no-epoch-checkpoints --keep-interval-updates 1 --save-interval-updates $VALID_EVERY
    --validate-interval 1000000 --validate-interval-updates $VALID_EVERY --max-tokens 1000 --label-smoothing 0.1}
TRAIN_FLAGS=${TRAIN_FLAGS:-}  # more flags for fairseq-train, such as --tie-encoder-decoder for a BERT
METRICS=${METRICS:-wrr,bleu} BEAM=${BEAM:-4} PATIENCE=${PATIENCE:-10}  # stop after N validations without improvement

export OMP_NUM_THREADS=${THREADS:-2}
DEVICE=$(command -v nvidia-smi >/dev/null || echo --cpu)
FAIRSEQ=(-s src -t tgt --user-dir "$(lev-plugins path)" --task text_correction $DEVICE --no-progress-bar
    --required-batch-size-multiple 1)
FAMILY=$(sed -n 's/.*"model_type": *"m\?\([a-z0-9]*\)".*/\1/p' "$BACKBONE/config.json")  # bert, bart or t5; mt5 is a t5
declare -A GATES=([none]= [all]=mask,copy,generate,skip [MG]=mask,generate [CG]=copy,generate [MCG]=mask,copy,generate)

data() {  # data NOISE: a tokenizer may lose case and spaces, so the test goes through it as well
    lev-plugins encode "$BACKBONE" "$OUT/$1"/{train,valid,test}.{src,tgt} --into "$FOLDER/whole"
    mkdir -p "$FOLDER/pieces"
    for name in {train,valid,test}.{src,tgt}; do
        cut -d ' ' -f 1-${LONGEST#0} "$FOLDER/whole/$name" >"$FOLDER/pieces/$name"
    done
    lev-plugins encode "$BACKBONE" "$FOLDER"/pieces/test.{src,tgt} --decode --into "$FOLDER"
    fairseq-preprocess -s src -t tgt --trainpref "$FOLDER/pieces/train" --validpref "$FOLDER/pieces/valid" \
        --testpref "$FOLDER/pieces/test" --joined-dictionary --srcdict "$BACKBONE/dict.txt" --destdir "$FOLDER/data"
}
train() {  # train SYSTEM SEED
    fairseq-train "$FOLDER/data" --save-dir "$FOLDER/$1_$2" "${FAIRSEQ[@]}" --log-format simple --log-interval 50 \
        --arch gated_$FAMILY --backbone "$BACKBONE" --gates "${GATES[$1]?unknown SYSTEMS: $1}" \
        --gate-mix "$GATE_MIX" --copy-from "$COPY_FROM" --criterion label_smoothed_cross_entropy --report-accuracy \
        --best-checkpoint-metric loss --eval-bleu-args '{"beam": 1}' --optimizer scaled_adam \
        --backbone-lr-factor "$LR_FACTOR" --adam-betas '(0.9,0.999)' --clip-norm 1 --weight-decay 0.001 \
        --patience "$PATIENCE" --seed "$2" $TRAINING $TRAIN_FLAGS |& tee -a "$FOLDER/$1_$2.log"
}

[ -z "$TEXT" ] || [ -d "$TEXT" ] || lev-plugins data "$(basename "$TEXT")" "$TEXT"
once text text
for noise in ${NOISES//,/ }; do
    FOLDER="$OUT/${noise}_$FAMILY"
    once $noise noise $noise
    once $noise-data data $noise
    [ "$SYMSPELL" = no ] || once $noise-symspell symspell $noise "$FOLDER"
    for system in ${SYSTEMS//,/ }; do for seed in ${SEEDS//,/ }; do
        once $noise-$system-$seed train $system $seed
        once $noise-$system-$seed-test decode "$FOLDER" ${system}_$seed --bpe pretrained --pretrained-tokenizer "$BACKBONE"
    done; done
    python "$(dirname "$0")/scores.py" "$FOLDER" --metrics $METRICS
done
