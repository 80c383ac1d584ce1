#!/usr/bin/env bash
# Figures 4a, 4b and 5a of the paper, of the models in OUT (see run.sh): iterations by length, BLEU against time, and
# BLEU after each iteration, alone and with an oracle. They need pip install '.[plot]'.
#
#     OUT=runs/multi30k bash examples/translation/figures.sh
source "$(dirname "$0")/settings.sh"
same_settings SOURCE TARGET MAX_ITER GAMMA BLEU_TOKENIZE
draw() { python "$HERE/../figures.py" "$@"; }

draw iterations "$OUT/levt.out" --output "$OUT/iterations.svg"

logs=()
for out in "$OUT"/*.out; do [[ $out == *-history.out ]] || logs+=("$(basename "$out" .out)=$out"); done
draw exits "${logs[@]}" --output "$OUT/exits.svg"

mkdir -p "$OUT/history"
levt="$OUT/levt/checkpoint_best.pt"
once history_delete decode history/delete "$levt" $EDIT --retain-iter-history --oracle delete
once history_both decode history/both "$levt" $EDIT --retain-iter-history --oracle delete+placeholder
draw oracle alone="$OUT/levt-history.out" delete="$OUT/history/delete.out" delete+placeholder="$OUT/history/both.out" \
    --output "$OUT/oracle.svg" --post-process sentencepiece
