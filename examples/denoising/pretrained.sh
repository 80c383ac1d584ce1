#!/usr/bin/env bash
# The comparison of run.sh with a pre-trained BERT, BART or T5, with gates and without.
#     BACKBONE=DIR NOISES=swap SEEDS=1 COPIES=1 OUT=runs/minilm bash examples/denoising/pretrained.sh
source "$(dirname "$0")/settings.sh"
BACKBONE=${BACKBONE:?is missing: a folder written by lev-plugins import-pretrained}
LONGEST=${LONGEST:-}  # cut texts after N pieces; empty: never
SCHEDULE=${SCHEDULE:-$(linear_rate "$LR" "$WARMUP" "$UPDATES") $(checkpoint_every "$VALID_EVERY") --max-tokens 1000
    --label-smoothing 0.1}
FAMILY=$(python -c 'import json, sys; print(json.load(sys.stdin)["model_type"].removeprefix("m"))' \
    <"$BACKBONE/config.json")  # bert, bart or t5: mbart is a bart, and mt5 a t5
same_settings BACKBONE LONGEST SCHEDULE GATE_MIX COPY_FROM BEAM

TRAINING=(--arch gated_$FAMILY --backbone "$BACKBONE" --backbone-lr-factor 0.1 --optimizer scaled_adam
    --adam-betas '(0.9,0.999)' --best-checkpoint-metric loss $SCHEDULE)
data() {  # data NOISE: a tokenizer may lose case and spaces, so the test goes through it as well
    lev-plugins encode "$BACKBONE" "$OUT/$1"/{train,valid,test}.{src,tgt} --into "$FOLDER/whole"
    mkdir -p "$FOLDER/pieces"
    for name in {train,valid,test}.{src,tgt}; do
        cut -d ' ' -f 1-$LONGEST "$FOLDER/whole/$name" >"$FOLDER/pieces/$name"
    done
    lev-plugins encode "$BACKBONE" "$FOLDER"/pieces/test.{src,tgt} --decode --into "$FOLDER"
    fairseq-preprocess -s src -t tgt --trainpref "$FOLDER/pieces/train" --validpref "$FOLDER/pieces/valid" \
        --testpref "$FOLDER/pieces/test" --joined-dictionary --srcdict "$BACKBONE/dict.txt" --destdir "$FOLDER/data"
}

download
once text text
for noise in ${NOISES//,/ }; do
    FOLDER="$OUT/${noise}_$FAMILY"
    once $noise noise $noise
    once $noise-data data $noise
    compare $noise "$FOLDER" --bpe pretrained --pretrained-tokenizer "$BACKBONE"
done
