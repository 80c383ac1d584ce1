# Sourced by run.sh, if there are no drafts: a weak system, which learns from one half of train, drafts the other half,
# valid and the test. They become OUT/drafts/{train,valid,test}, each .SOURCE, .TARGET and .draft.
halve() {  # the first half of train becomes OUT/half/weak, the second OUT/half/train
    mkdir -p "$OUT/half" "$OUT/drafts"
    local half=$(($(wc -l <"$UNDRAFTED/train.$SOURCE") / 2)) side
    for side in "$SOURCE" "$TARGET"; do
        head -n $half "$UNDRAFTED/train.$side" >"$OUT/half/weak.$side"
        tail -n +$((half + 1)) "$UNDRAFTED/train.$side" >"$OUT/half/train.$side"
        cp "$UNDRAFTED/valid.$side" "$OUT/half/valid.$side"; cp "$UNDRAFTED/test.$side" "$OUT/half/test.$side"
    done
}
weak_lstm() {
    fairseq-train "$OUT/weak_data" --save-dir "$OUT/weak" "${TRAINING[@]}" --task translation --arch lstm \
        --encoder-layers 1 --encoder-embed-dim "$WEAK_WIDTH" --encoder-hidden-size "$WEAK_WIDTH" --decoder-layers 1 \
        --decoder-embed-dim "$WEAK_WIDTH" --decoder-hidden-size "$WEAK_WIDTH" --decoder-out-embed-dim "$WEAK_WIDTH" \
        --dropout 0.3 --share-all-embeddings --criterion label_smoothed_cross_entropy --lr 0.002 \
        --lr-scheduler inverse_sqrt --warmup-updates 200 --max-epoch 10 --no-epoch-checkpoints |&
        tee -a "$OUT/weak.log"
}
draft() {  # all drafts, then those of each split
    if [ "$WEAK" = words ]; then
        python "$HERE/word_for_word.py" --train "$OUT/half/weak.$SOURCE" "$OUT/half/weak.$TARGET" \
            "$OUT"/half/{train,valid,test}."$SOURCE" >"$OUT/drafts/all"
    else
        lev-plugins distill "$OUT/weak_data" --path "$OUT/weak/checkpoint_best.pt" --split test --beam 1 --text \
            "$OUT/drafts/all" --post-process sentencepiece --max-len-a 2 --max-len-b 20 --max-tokens 8000 $CPU
    fi
    local end=0; for split in train valid test; do
        cp "$OUT/half/$split".{"$SOURCE","$TARGET"} "$OUT/drafts"
        local lines=$(wc -l <"$OUT/half/$split.$SOURCE"); end=$((end + lines))
        head -n $end "$OUT/drafts/all" | tail -n "$lines" >"$OUT/drafts/$split.draft"
    done
}

[ -d "$UNDRAFTED" ] || lev-plugins data "$(basename "$UNDRAFTED")" "$UNDRAFTED"
once halves halve
once weak_data lev-plugins prepare "${LANGUAGES[@]}" --train-prefix "$OUT/half/weak" --valid-prefix "$OUT/half/valid" \
    --test-prefix "$OUT"/half/{train,valid,test} $PIECES --joined-dictionary --dest "$OUT/weak_data"
[ "$WEAK" = words ] || once weak weak_lstm
once drafts draft
PIECES="--sentencepiece-model $OUT/weak_data/sentencepiece.model --srcdict $OUT/weak_data/dict.$SOURCE.txt"
