#!/usr/bin/env bash
# Post-editing as in section 4.2 of the LevT paper: editors compared with a model that rewrites the draft.
#     bash examples/post_editing/run.sh
#     TEXT=data/mlqe-pe SOURCE=src TARGET=pe DRAFT=mt OUT=runs/ape bash examples/post_editing/run.sh
source "$(dirname "$0")/settings.sh"
same_settings WEAK WEAK_WIDTH SYNTHETIC PARALLEL VOCAB TOKENS LAYERS WIDTH FFN HEADS UPDATES LR FINETUNE_UPDATES \
    FINETUNE_LR WARMUP VALID_EVERY DISTIL GAMMAS KEEP_BIASES SEED TRAIN_FLAGS

if [ "$UNDRAFTED" ]; then
    source "$HERE/drafts.sh"  # and PIECES are then those of the weak system
elif [ ! -d "$TEXT" ]; then
    python "$HERE/../data.py" "$(basename "$TEXT")" "$TEXT"
fi
once triples lev-plugins prepare "${LANGUAGES[@]}" -d "$DRAFT" --train-prefix "$TEXT/train" --valid-prefix \
    "$TEXT/valid" --test-prefix "$TEXT/test" ${SYNTHETIC:+--extra-train-prefix "$SYNTHETIC"} $PIECES \
    --joined-dictionary --dest "$OUT/triples"
PRENORM="--encoder-normalize-before --decoder-normalize-before"
LEVT="--arch levt --criterion dual_policy --dropout 0.1 --rollin-alpha 0.5 --rollin-beta 0.5"
data=triples UPSAMPLE=${SYNTHETIC:+--upsample-primary 10}
once autoregressive train autoregressive triples "$UPDATES" "$LR" $PRENORM --draft-lang "$DRAFT" --dropout 0.3 \
    --arch post_edit_transformer --criterion label_smoothed_cross_entropy --eval-bleu-args '{"beam": 1}' $UPSAMPLE
if [ "$DISTIL" ]; then
    data=distilled
    once distil lev-plugins distill "$OUT/triples" --path "$OUT/autoregressive/checkpoint_best.pt" --dest \
        "$OUT/distilled" --beam 4 --max-len-a 1.2 --max-len-b 10 --max-tokens "$TOKENS" $CPU
fi
once scratch train scratch $data "$UPDATES" "$LR" $PRENORM --draft-lang "$DRAFT" $LEVT $UPSAMPLE
if [ -z "$TRANSLATION" ]; then
    pairs=$data
    if [ "$PARALLEL" ]; then
        once pairs lev-plugins prepare "${LANGUAGES[@]}" --train-prefix "$PARALLEL" --valid-prefix "$TEXT/valid" \
            --joined-dictionary --sentencepiece-model "$OUT/triples/sentencepiece.model" --srcdict \
            "$OUT/triples/dict.$SOURCE.txt" --dest "$OUT/pairs"
        pairs=pairs
    fi
    once translator train translator $pairs "$UPDATES" "$LR" $PRENORM $LEVT $([ $pairs = pairs ] || echo $UPSAMPLE)
fi
once finetuned train finetuned $data "$FINETUNE_UPDATES" "$FINETUNE_LR" $(layout "$TRANSLATOR") --draft-lang "$DRAFT" \
    $LEVT $UPSAMPLE --finetune-from-model "$TRANSLATOR"
source "$HERE/tests.sh"
