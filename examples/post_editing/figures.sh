#!/usr/bin/env bash
# Figure 5 of the paper: BLEU and TER after each iteration of the fine-tuned LevT, without a bias, alone and with both
# oracles, as OUT/bleu.svg and OUT/ter.svg. They need pip install '.[plot]'. The settings are those of settings.sh.
#     OUT=runs/post-editing bash examples/post_editing/figures.sh
source "$(dirname "$0")/settings.sh"
mkdir -p "$OUT/history"
once history_alone test_editor finetuned history/alone gamma --retain-iter-history
once history_delete test_editor finetuned history/delete gamma --retain-iter-history --oracle delete
once history_both test_editor finetuned history/both gamma --retain-iter-history --oracle delete+placeholder
for metric in bleu ter; do
    python "$HERE/../figures.py" oracle alone="$OUT/history/alone.out" delete="$OUT/history/delete.out" \
        delete+placeholder="$OUT/history/both.out" --metric $metric --post-process sentencepiece \
        --output "$OUT/$metric.svg"
done
