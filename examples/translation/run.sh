#!/usr/bin/env bash
# From parallel text to a Levenshtein Transformer, by way of an autoregressive teacher (section 4.1 of the LevT paper).
#
#     bash examples/translation/run.sh
#     TEXT=DIR SOURCE=fr TARGET=en OUT=runs/fr-en bash examples/translation/run.sh
source "$(dirname "$0")/settings.sh"
same_settings TEXT SOURCE TARGET VOCAB KIND COVERAGE JOINED SHARE SIZES TOKENS BEAM TEACHER_UPDATES TEACHER_TRAINING \
    AVERAGE LEVT_START LEVT_UPDATES LEVT_TRAINING VALID_EVERY MAX_ITER GAMMA BLEU_TOKENIZE SEED TRAIN_FLAGS

[ -d "$TEXT" ] || python "$HERE/../data.py" "$(basename "$TEXT")" "$TEXT"
once data lev-plugins prepare -s "$SOURCE" -t "$TARGET" --train-prefix "$TEXT/train" --valid-prefix "$TEXT/valid" \
    --test-prefix "$TEXT/test" --learn-sentencepiece "$VOCAB" --sentencepiece-type "$KIND" \
    --sentencepiece-coverage "$COVERAGE" $JOINED --workers "$THREADS" --dest "$OUT/data"
once teacher train teacher "$OUT/data" --task translation --arch transformer --criterion label_smoothed_cross_entropy \
    --max-tokens "$TOKENS" --max-update "$TEACHER_UPDATES" --keep-last-epochs 5 $TEACHER_TRAINING
once average lev-plugins average $AVERAGE --output "$OUT/teacher.pt"
once distil lev-plugins distill "$OUT/data" --path "$OUT/teacher.pt" --dest "$OUT/distilled" --beam "$BEAM" \
    --max-len-a 1.2 --max-len-b 10 --max-tokens "$TOKENS" --shard-size 2000 $CPU
[ -z "$LEVT_START" ] || once start lev-plugins import-levt "$OUT/teacher.pt" "$LEVT_START"
once levt levt levt "$OUT/distilled"
once greedy decode greedy "$OUT/teacher.pt" $TEACH --beam 1
once beam decode beam "$OUT/teacher.pt" $TEACH --beam "$BEAM"
once test_levt decode levt "$OUT/levt/checkpoint_best.pt" $EDIT
once test_history decode levt-history "$OUT/levt/checkpoint_best.pt" $EDIT --retain-iter-history  # for its iterations
report
