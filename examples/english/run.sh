#!/usr/bin/env bash
# Train an editor of English that leaves alone what it does not know: see README.md.
source "$(dirname "$0")/../once.sh"  # train_editor: the architecture, and flags of all editors
# OUT: folder of all output, where the same command continues after a stop; TEXT: clean English to train on, files of
# one sentence per line; TEST: folder with KIND.clean and KIND.typos to score, such as web.clean and web.typos
OUT=${OUT:-english-out} TEXT=${TEXT:-data/news-commentary/news.txt} TEST=${TEST:-data/misspellings}
# LANGUAGE_FILES: en, or a folder with the files of your language (docs/language.md); LIST: frequency list, lines
# `word count`; OTHER: clean text of another kind than TEXT, to calibrate confidences on as well (both empty, in English
# alone: the list of the package symspellpy; docstrings)
LANGUAGE_FILES=${LANGUAGE_FILES:-en} LIST=${LIST-} OTHER=${OTHER-}
# WORDS, MISSPELLINGS: lists of words that exist, and of misspellings, lines MISSPELLING,CORRECTION,... (empty: none)
WORDS=${WORDS-} MISSPELLINGS=${MISSPELLINGS-}
LISTED=${LISTED:-55000} OCCURRENCES=${OCCURRENCES:-3}  # words of LIST to take; least count of others of TEXT
COPIES=${COPIES:-2}  # of the text, each with other made-up words; several numbers: of each file of TEXT
UPDATES=${UPDATES:-5000}  # length of the training
PROMISE=${PROMISE:-17}  # words of 1,000 right ones that it may break in held-out text with many unexpected words
EXPORT=${EXPORT-}  # more flags of lev-plugins export, such as --license mit
[[ ${LANGUAGE_FILES##*/} = en || ( $LIST && $OTHER ) ]] || refuse "LANGUAGE_FILES requires LIST and OTHER as well"
[[ $WORDS || ! $MISSPELLINGS ]] || refuse "MISSPELLINGS requires WORDS"
same_settings TEXT LANGUAGE_FILES LIST OTHER WORDS MISSPELLINGS LISTED OCCURRENCES COPIES UPDATES PROMISE EXPORT SEED \
    TRAIN_FLAGS
source "$HERE/spellers.sh"

for set in news-commentary misspellings free-english; do  # TEXT and TEST, unless they name your own
    if [[ " $TEXT $TEST/" = *" data/$set/"* && ! -e data/$set ]]; then python "$HERE/../data.py" $set; fi
done
for clean in "$TEST"/*.clean; do  # now, as a missing file should not stop it after the training
    lev-plugins score exact "${clean%.clean}.typos" "$clean" >/dev/null
done

KINDS=insert,delete,substitute,swap,keyboard,accent:0.1 slips=() lexicon=() few=()  # of noise; what everybody knows
if [ "$WORDS" ]; then
    KINDS+=,confusions:1.5 slips=(confusions "$OUT/lexicon/slips.tsv") lexicon=(--lexicon "$OUT/lexicon/lexicon.txt")
    few=(--calibrate "$OUT"/other/few.{noisy,clean})
    once lexicon python "$HERE/lexicon.py" "$OUT/lexicon" --words $WORDS ${MISSPELLINGS:+--misspellings $MISSPELLINGS} \
        --language-files "$LANGUAGE_FILES"
fi
typos() {  # typos SEED <CLEAN >NOISY: like those that the training makes
    lev-plugins noise --kind $KINDS ${slips:+--"${slips[@]}"} --language-files "$LANGUAGE_FILES" --varied --word-rate 0.125 --char-rate 0.16 \
        --min-letters 3 --lower-rate 0.3 --seed "$1"
}
text() {  # training text with unexpected words, its dictionary, and held-out text, also with typos
    python "$HERE/text.py" "$OUT/text" --text $TEXT --language-files "$LANGUAGE_FILES" --copies $COPIES \
        --listed "$LISTED" --occurrences "$OCCURRENCES" ${LIST:+--frequencies "$LIST"} "${lexicon[@]}"
    typos 2 <"$OUT/text/valid.clean" >"$OUT/text/valid.noisy"
    cp "$OUT/text/valid.noisy" "$OUT/text/valid.draft"
    typos 4 <"$OUT/text/calibration.clean" >"$OUT/text/calibration.noisy"
}
other() {
    mkdir -p "$OUT/other"
    [ "$OTHER" ] || python "$HERE/corpus.py" "$OUT/other" --packages numpy,scipy,sklearn,torch
    head -n 2000 "${OTHER:-$OUT/other/train.txt}" >"$OUT/other/clean"
    typos 3 <"$OUT/other/clean" >"$OUT/other/noisy"
    [ ! "$WORDS" ] || few_typos
}
few_typos() {  # more of it, with the few typos that people leave in a document
    head -n 15000 "${OTHER:-$OUT/other/train.txt}" | tail -n 10000 >"$OUT/other/few.clean"
    lev-plugins noise --kind confusions:2,insert:0.2,delete:0.2,substitute:0.2,swap:0.2 --"${slips[@]}" \
        --language-files "$LANGUAGE_FILES" --word-rate 0.01 --min-letters 3 --seed 5 <"$OUT/other/few.clean" \
        >"$OUT/other/few.noisy"
}
once text text; once other other

once data lev-plugins prepare -s noisy -d draft -t clean --bpe words --joined-dictionary --clean-train \
    --srcdict "$OUT/text/dict.txt" "${lexicon[@]}" --train-prefix "$OUT/text/train" --valid-prefix "$OUT/text/valid" --dest "$OUT/data"

once model train_editor "$OUT/data" "$OUT/model" "$UPDATES" 0.002 -s noisy -t clean --spelling \
    --spelling-buckets 24576 --noise-kind $KINDS ${slips:+--noise-"${slips[@]}"} --noise-language-files "$LANGUAGE_FILES" --noise-varied \
    --noise-word-rate 0.125 --noise-char-rate 0.16 --noise-min-letters 3 --noise-lower-rate 0.3 --noise-share 0.85

once editor lev-plugins export "$OUT/model/checkpoint_last.pt" "$OUT/editor" --overwrite --bpe words \
    --iter-decode-max-iter 0 --data "$OUT/data" --language "$(basename "$LANGUAGE_FILES")" \
    --words "$OUT/text/chat.txt" --calibrate "$OUT"/text/valid.{noisy,clean} --calibrate "$OUT"/other/{noisy,clean} \
    --calibrate "$OUT"/text/calibration.{noisy,clean} "${few[@]}" \
    --clean "$OUT/text/unexpected.clean" \
    --promise-broken "$PROMISE" $EXPORT

score() {  # score NAME SYSTEM...: rows of the table, of what a system does to clean text and to the same with typos
    mkdir -p "$TESTED/$1"
    for clean in "$TEST"/*.clean; do
        kind=$(basename "$clean" .clean); typos=$TEST/$kind.typos; out=$TESTED/$1/$kind
        "${@:2}" <"$clean" >"$out.clean"
        "${@:2}" <"$typos" >"$out.typos"
        broken=$(lev-plugins score harm "$out.clean" "$clean" --json | number %.1f score)
        repaired=$(lev-plugins score harm "$out.typos" "$clean" --source "$typos" --json |
            number %.1f "% of typos repaired")
        echo "| $kind | $1 | $broken | $repaired |"
    done >"$TESTED/$1/rows"
}
TESTED=$OUT/test/${TEST//\//-}  # of this TEST: another one is scored as well
score_once() { once "score $1 on ${TESTED##*/}" score "$@"; }
score_once "this editor" lev-plugins edit "$OUT/editor"
spellers score_once
(printf '%s\n' '| | | right words broken, of 1,000 | typos repaired, % |' '|---|---|---|---|'
sort "$TESTED"/*/rows) | tee "$OUT/report.md"
