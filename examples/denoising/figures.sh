#!/usr/bin/env bash
# Figures 2 and 3 of the paper, of a gated model that run.sh has trained: the gates by noise, by length and token by
# token, as OUT/NOISE/{noise,length,sentences}.svg. They need pip install '.[plot]'.
#     NOISE=as-is SYSTEM=all OUT=runs/denoising-ocr bash examples/denoising/figures.sh
source "$(dirname "$0")/../once.sh"
OUT=${OUT:-runs/denoising} NOISE=${NOISE:-random} SYSTEM=${SYSTEM:-MCG}  # which model, with SEED

folder="$OUT/$NOISE" clean="$OUT/text/test.src"  # the source without noise
[ "$NOISE" != as-is ] || clean="$folder/test.tgt"
gates() { python "$(dirname "$0")/gates.py" "$@"; }
head -n 400 "$folder/test.src" >"$folder/gates.src"
head -n 400 "$clean" >"$folder/gates.clean"
gates "$folder/data" "$folder/gates.src" --path "$folder/${SYSTEM}_$SEED/checkpoint_best.pt" --bpe sentencepiece \
    --sentencepiece-model "$folder/data/sentencepiece.model" --reference "$folder/gates.clean" --by noise \
    --output "$folder/noise.svg" --save "$folder/gates.jsonl" --beam 4 $CPU
gates --saved "$NOISE=$folder/gates.jsonl" --by length --output "$folder/length.svg"
gates --saved "$NOISE=$folder/gates.jsonl" --first 3 --output "$folder/sentences.svg"
