#!/usr/bin/env bash
# A glossary for post-editing: are its terms used, is BLEU lower for it, and how long does a sentence take?
#     MODEL=runs/post-editing/scratch/checkpoint_best.pt DATA=runs/post-editing/triples TEXT=runs/post-editing/drafts \
#         TRAIN=data/multi30k/train OUT=runs/glossary bash examples/post_editing/glossary.sh
#
# The terms are words of the references: see glossary.py. The bias is the one that is best on valid without a glossary.
set -euo pipefail
source "$(dirname "$0")/../once.sh"

MODEL=${MODEL:-runs/post-editing/scratch/checkpoint_best.pt} DATA=${DATA:-runs/post-editing/triples}
TEXT=${TEXT:-runs/post-editing/drafts}  # folder of valid and test, each .SOURCE, .TARGET and .DRAFT
TRAIN=${TRAIN:-data/multi30k/train}  # PREFIX of the text that the lexicon is counted from
SOURCE=${SOURCE:-en} TARGET=${TARGET:-de} DRAFT=${DRAFT:-draft} OUT=${OUT:-runs/glossary}
BIASES=${BIASES:-0 1 2 3}  # tried on valid

mkdir -p "$OUT"
terms() {  # terms SPLIT
    python "$(dirname "$0")/glossary.py" --train "$TRAIN.$SOURCE" "$TRAIN.$TARGET" --test "$TEXT/$1.$SOURCE" \
        "$TEXT/$1.$TARGET" >"$OUT/$1.tsv"
}
edit() {  # edit SPLIT NAME BIAS FLAGS...: and the seconds of processor time, without those of an empty text
    local TIMEFORMAT=%U out="$OUT/$1.$2"
    {
        time lev-plugins edit "$OUT/model" --keep-bias "$3" "${@:4}" </dev/null 2>&3
        time lev-plugins edit "$OUT/model" --keep-bias "$3" --drafts "$TEXT/$1.$DRAFT" "${@:4}" \
            <"$TEXT/$1.$SOURCE" >"$out" 2>&3
    } 3>&2 2>"$out.times"  # the seconds alone, without what the commands say
    awk '{ seconds = $1 - start; start = $1 } END { print seconds }' "$out.times" >"$out.seconds"
}
score() {  # score SPLIT NAME FILE
    lev-plugins score bleu "$3" "$TEXT/$1.$TARGET" --tokenize none --bootstrap 1000 | head -n 1
    lev-plugins score terms "$3" --source "$TEXT/$1.$SOURCE" --glossary "$OUT/$1.tsv" --bootstrap 1000 | head -n 1
}
choose() {  # the bias
    for bias in $BIASES; do
        edit valid $bias "$bias"
        score valid $bias "$OUT/valid.$bias" | sed -n "s/.*BLEU = \([0-9.]*\).*/\1 $bias/p"
    done | sort -rg | tee "$OUT/biases" | head -n 1 | cut -d ' ' -f 2 >"$OUT/bias"
}

once model lev-plugins export "$MODEL" "$OUT/model" --data "$DATA"
for split in valid test; do once terms_$split terms $split; done
once bias choose
read -r BIAS <"$OUT/bias"
once without edit test without "$BIAS"
once hard edit test hard "$BIAS" --glossary "$OUT/test.tsv"
once soft edit test soft "$BIAS" --glossary "$OUT/test.tsv" --soft-glossary
cp "$TEXT/test.$DRAFT" "$OUT/test.nothing"
for name in nothing without hard soft; do
    echo "$name $(cat "$OUT/test.$name.seconds" 2>/dev/null || true)"; score test $name "$OUT/test.$name"
done
lev-plugins score bleu "$OUT/test.hard" "$TEXT/test.$TARGET" --tokenize none --against "$OUT/test.without"
cat "$OUT/biases"
