# Sourced by run.sh: each LevT decodes the test with the gamma and the bias that are best on valid, and all are scored.
declare -A MODELS=([scratch]="$OUT/scratch/checkpoint_best.pt" [zero_shot]="$TRANSLATOR" [translator]="$TRANSLATOR"
    [finetuned]="$OUT/finetuned/checkpoint_best.pt")
decode() {  # decode FILE FLAGS...
    fairseq-generate "$OUT/triples" "${FAIRSEQ[@]}" --max-tokens 4000 --remove-bpe sentencepiece "${@:2}" >"$1" 2>&1 ||
        { tail -n 5 "$1" >&2; exit 1; }
}
edit() {  # edit FILE EDITOR GAMMA BIAS FLAGS...: the translator is given no draft
    local draft="--draft-lang $DRAFT --keep-bias $4"
    [ $2 != translator ] || draft=
    decode "$1" --task text_editing --path "${MODELS[$2]}" $draft --print-step --iter-decode-max-iter "$MAX_ITER" \
        --iter-decode-eos-penalty "$3" "${@:5}"
}
dial() {  # dial EDITOR: gamma, and then the bias that goes best with it, by BLEU on valid
    local folder="$OUT/dials/$1" outputs=() gamma bias biases=$KEEP_BIASES
    mkdir -p "$folder"
    for gamma in ${GAMMAS//,/ }; do
        edit "$folder/$gamma,0" $1 $gamma 0 --gen-subset valid; outputs+=("$folder/$gamma,0")
    done
    best "${outputs[@]}" >"$folder.gamma"
    gamma=$(cut -d , -f 1 "$folder.gamma") outputs=("$folder/$(cat "$folder.gamma")")
    [ $1 != translator ] || biases=
    for bias in ${biases//,/ }; do
        edit "$folder/$gamma,$bias" $1 $gamma $bias --gen-subset valid; outputs+=("$folder/$gamma,$bias")
    done
    best "${outputs[@]}" >"$folder.best"
}
best() {  # best FILE...: the name of the output with the highest BLEU: gamma and bias, separated by a comma
    for file; do
        lev-plugins score bleu "$file" "$TEXT/valid.$TARGET" --generated --tokenize none --json |
            sed -n "s|.*\"score\": \([0-9.]*\).*|\1 $(basename "$file")|p"
    done | sort -s -rg -k 1,1 | head -n 1 | cut -d ' ' -f 2
}
test_editor() {  # test_editor EDITOR NAME DIAL FLAGS...: by the gamma and bias in OUT/dials/EDITOR.DIAL
    IFS=, read -r gamma bias <"$OUT/dials/$1.$3"
    edit "$OUT/$2.out" $1 $gamma $bias --gen-subset test "${@:4}"
}

once test_autoregressive decode "$OUT/autoregressive.out" --task text_editing --path \
    "$OUT/autoregressive/checkpoint_best.pt" --draft-lang "$DRAFT" --beam "$BEAM" --gen-subset test
[ -z "$TRANSLATION" ] || once test_teacher decode "$OUT/teacher.out" --task translation --path \
    "$TRANSLATION/teacher.pt" --beam "$BEAM" --max-len-a 1.2 --max-len-b 10 --gen-subset test
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
    once quality_$editor python "$(dirname "$0")/quality.py" "${MODELS[$editor]}" "$OUT/triples" --drafts "$TEXT" \
        --pieces "$OUT/triples/sentencepiece.model" --draft "$DRAFT" --target "$TARGET" ${TAGS:+--tags "$TAGS"} \
        --test "$TEST" --output "$OUT/$editor.quality.json"
done
lev-plugins score bleu "$TEXT/$TEST.$DRAFT" "$TEXT/$TEST.$TARGET" --tokenize none
lev-plugins score ter "$TEXT/$TEST.$DRAFT" "$TEXT/$TEST.$TARGET"
for out in "$OUT"/*.out; do
    echo "$out"
    lev-plugins score bleu "$out" "$TEXT/$TEST.$TARGET" --generated --tokenize none
    lev-plugins score ter "$out" "$TEXT/$TEST.$TARGET" --generated
done
python "$(dirname "$0")/../translation/iterations.py" "$OUT"/*.out
tail -n +1 "$OUT"/dials/*.best "$OUT"/*.quality.json
