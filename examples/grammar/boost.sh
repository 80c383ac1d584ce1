# Sourced by pbd.sh, with TUNE and BOOST: fluency-boost back-translation (Ge et al., 2018). A model learns to write the
# mistakes of TUNE and puts some, by sampling, into BOOST clean sentences. Where the result is less fluent than the
# sentence (fluency.py), the pair joins the first training.

once backwards train backwards "$OUT/real-data" "$BOOST_UPDATES" "$LR" -s clean -t noisy
boost() {
    mkdir -p "$OUT/boost"
    for side in clean noisy; do head -n "$BOOST" "$OUT/texts/train.clean" >"$OUT/boost/text.$side"; done
    prepare --srcdict "$OUT/data/dict.noisy.txt" $pieces --train-prefix "$OUT/boost/text" --dest "$OUT/boost/bin"
    fairseq-generate "$OUT/boost/bin" "${FAIRSEQ[@]}" --task text_correction -s clean -t noisy --gen-subset train \
        --path "$OUT/backwards/average.pt" --beam 1 --sampling --sampling-topk 10 --seed "$SEED" --max-tokens 4000 \
        --remove-bpe sentencepiece --required-batch-size-multiple 1 >"$OUT/boost/generated"
    python "$HERE/fluency.py" "$OUT/boost/text.clean" "$OUT/boost/pairs" --generated "$OUT/boost/generated"
    prepare --srcdict "$OUT/data/dict.noisy.txt" $pieces --train-prefix "$OUT/texts/train" \
        --extra-train-prefix "$OUT/boost/pairs" --valid-prefix "$OUT/texts/valid" --dest "$OUT/boost/data"
}
once boost boost
data=$OUT/boost/data
