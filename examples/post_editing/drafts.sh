# Sourced by run.sh, if there are no drafts: a weak system, which learns from one half of train, drafts the other half,
# valid and the test. They become OUT/drafts/{train,valid,test}, each .SOURCE, .TARGET and .draft.
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
            "$TEXT"/{train,valid,test}."$SOURCE" >"$OUT/drafts/all"
    else
        for part in test test1 test2; do  # of train, valid and test
            fairseq-generate "$OUT/weak_data" --path "$OUT/weak/checkpoint_best.pt" "${FAIRSEQ[@]}" -s "$SOURCE" \
                -t "$TARGET" --gen-subset $part --beam 1 --max-len-a 2 --max-len-b 20 --remove-bpe sentencepiece \
                --required-batch-size-multiple 1 --max-tokens 8000 | grep ^D- | sort -V | cut -f 3
        done >"$OUT/drafts/all"
    fi
    python "$HERE/halves.py" drafts "$OUT/drafts/all" "$OUT" --suffixes "$SOURCE" "$TARGET"
}

[ -d "$UNDRAFTED" ] || python "$HERE/../data.py" "$(basename "$UNDRAFTED")" "$UNDRAFTED"
once halves python "$HERE/halves.py" split "$UNDRAFTED" "$OUT" --suffixes "$SOURCE" "$TARGET"
once weak_data lev-plugins prepare "${LANGUAGES[@]}" --train-prefix "$OUT/half/weak" --valid-prefix "$TEXT/valid" \
    --test-prefix "$TEXT"/{train,valid,test} $PIECES --joined-dictionary --dest "$OUT/weak_data"
[ "$WEAK" = words ] || once weak weak_lstm
once drafts draft
PIECES="--sentencepiece-model $OUT/weak_data/sentencepiece.model --srcdict $OUT/weak_data/dict.$SOURCE.txt"
