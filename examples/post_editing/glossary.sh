#!/usr/bin/env bash
# A glossary for post-editing: are its terms used, is BLEU lower for it, and how long does a sentence take?
#     MODEL=runs/post-editing/scratch/checkpoint_best.pt DATA=runs/post-editing/triples TEXT=runs/post-editing/drafts \
#         TRAIN=data/multi30k/train OUT=runs/glossary bash examples/post_editing/glossary.sh
#
# The terms are words of the references: see glossary.py. The bias is the one that is best on valid without a glossary.
source "$(dirname "$0")/../once.sh"

MODEL=${MODEL:-runs/post-editing/scratch/checkpoint_best.pt} DATA=${DATA:-runs/post-editing/triples}
TEXT=${TEXT:-runs/post-editing/drafts}  # folder of valid and test, each .en, .de and .draft
TRAIN=${TRAIN:-data/multi30k/train}  # PREFIX of the text that the lexicon is counted from
OUT=${OUT:-runs/glossary} BIASES=${BIASES:-0 1 2 3}  # tried on valid
same_settings MODEL DATA TEXT TRAIN BIASES
terms() {
    python "$HERE/glossary.py" --train "$TRAIN.en" "$TRAIN.de" --test "$TEXT/test.en" "$TEXT/test.de" >"$OUT/test.tsv"
}
edit() {  # edit SPLIT NAME BIAS FLAGS...: and the seconds of processor time, without those of an empty text
    local TIMEFORMAT=%U out="$OUT/$1.$2"
    {
        time lev-plugins edit "$OUT/model" --keep-bias "$3" "${@:4}" </dev/null 2>&3
        time lev-plugins edit "$OUT/model" --keep-bias "$3" --drafts "$TEXT/$1.draft" "${@:4}" \
            <"$TEXT/$1.en" >"$out" 2>&3
    } 3>&2 2>"$out.times"  # the seconds alone, without what the commands say
    awk '{ seconds = $1 - start; start = $1 } END { print seconds }' "$out.times" >"$out.seconds"
}
choose() {  # the bias
    for bias in $BIASES; do
        edit valid "$bias" "$bias"
        lev-plugins score bleu "$OUT/valid.$bias" "$TEXT/valid.de" --tokenize none --json | number %.2f score
        echo "$bias"
    done | paste -d ' ' - - | sort -rg >"$OUT/biases"
    best <"$OUT/biases" >"$OUT/bias"
}

once model lev-plugins export "$MODEL" "$OUT/model" --data "$DATA"
once terms terms
once bias choose
read -r BIAS <"$OUT/bias"
once without edit test without "$BIAS"
once hard edit test hard "$BIAS" --glossary "$OUT/test.tsv"
once soft edit test soft "$BIAS" --glossary "$OUT/test.tsv" --soft-glossary
cp "$TEXT/test.draft" "$OUT/test.nothing"
for name in nothing without hard soft; do
    echo "$name $(cat "$OUT/test.$name.seconds" 2>/dev/null || true)"
    lev-plugins score bleu "$OUT/test.$name" "$TEXT/test.de" --tokenize none --bootstrap 1000 | head -n 1
    lev-plugins score terms "$OUT/test.$name" --source "$TEXT/test.en" --glossary "$OUT/test.tsv" --bootstrap 1000 |
        head -n 1
done
lev-plugins score bleu "$OUT/test.hard" "$TEXT/test.de" --tokenize none --against "$OUT/test.without"
cat "$OUT/biases"
