# Sourced by run.sh: each LevT decodes the test with the gamma and the bias that are best on valid, and all are scored.
once test_autoregressive decode "$OUT/autoregressive.out" --task text_editing --path \
    "$OUT/autoregressive/checkpoint_best.pt" --draft-lang "$DRAFT" --beam 4 --gen-subset test
[ -z "$TRANSLATION" ] || once test_teacher decode "$OUT/teacher.out" --task translation --path \
    "$TRANSLATION/teacher.pt" --beam 4 --max-len-a 1.2 --max-len-b 10 --gen-subset test
for editor in scratch zero_shot finetuned translator; do
    once dial_$editor dial $editor
    once test_$editor test_editor $editor $editor best
    [ $editor = translator ] || once test_${editor}_unbiased test_editor $editor ${editor}_unbiased gamma
done
for editor in translator finetuned; do  # Figure 5 of the paper
    once test_${editor}_delete test_editor $editor ${editor}_delete best --oracle delete
    once test_${editor}_both test_editor $editor ${editor}_both best --oracle delete+placeholder
done
for editor in scratch zero_shot finetuned; do  # which words of a draft are bad, by the deletion policy
    once quality_$editor python "$HERE/quality.py" "${MODELS[$editor]}" "$OUT/triples" --drafts "$TEXT" \
        --pieces "$OUT/triples/sentencepiece.model" --draft "$DRAFT" --target "$TARGET" ${TAGS:+--tags "$TAGS"} \
        --output "$OUT/$editor.quality.json"
done
scores() {  # scores FILE FLAGS...
    lev-plugins score bleu "$1" "$TEXT/test.$TARGET" --tokenize "$BLEU_TOKENIZE" "${@:2}"
    lev-plugins score ter "$1" "$TEXT/test.$TARGET" "${@:2}"
}
scores "$TEXT/test.$DRAFT"
for out in "$OUT"/*.out; do echo "$out"; scores "$out" --generated; done
python "$HERE/../translation/iterations.py" "$OUT"/*.out
tail -n +1 "$OUT"/dials/*.best "$OUT"/*.quality.json
