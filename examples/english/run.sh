#!/usr/bin/env bash
# Train an editor of English that leaves alone what it does not know: see README.md.
set -euo pipefail
HERE=$(dirname "$0")
OUT=${OUT:-english-out}  # folder of all output; the same one continues after a stop
TEXT=${TEXT:-data/news-commentary/news.txt}  # clean English to train on: files of one sentence per line
LANGUAGE_FILES=${LANGUAGE_FILES:-en}  # en, or a folder with the files of your language: docs/language.md
LIST=${LIST-}  # frequency list, lines `word count`; empty: the English one of the package symspellpy
OTHER=${OTHER-}  # clean text of another kind than TEXT, to calibrate confidences on as well; empty: docstrings
TEST=${TEST:-data/misspellings}  # folder with KIND.clean and KIND.typos to score, such as web.clean and web.typos
UPDATES=${UPDATES:-5000}  # length of the training
TOKENS=${TOKENS:-2500}  # tokens in a batch
COPIES=${COPIES:-2}  # of the text, each with other made-up words; several numbers: of each file of TEXT
PROMISE=${PROMISE:-17}  # words of 1,000 right ones that it may break in held-out text with many unexpected words
EXPORT=${EXPORT-}  # more flags of lev-plugins export, such as --license mit
SEED=${SEED:-1}  # random seed
CPU=${CPU-$(command -v nvidia-smi >/dev/null || echo --cpu)}  # --cpu, or empty: train on the GPUs
export OMP_NUM_THREADS=${THREADS:-2}  # CPU threads
source "$HERE/../once.sh"
source "$HERE/spellers.sh"

for set in news-commentary misspellings free-english; do  # TEXT and TEST, unless they name your own
    if [[ " $TEXT $TEST/" = *" data/$set/"* && ! -e data/$set ]]; then lev-plugins data $set; fi
done; ls "$TEST"/*.clean >/dev/null  # now, as a missing file should not stop it after the training

# flags of lev-plugins noise; those of fairseq-train have --noise- before the same names
NOISE=(--kind insert,delete,substitute,swap,keyboard,accent:0.1 --language-files "$LANGUAGE_FILES" --varied
    --word-rate 0.125 --char-rate 0.16 --min-letters 3 --lower-rate 0.3)
typos() { lev-plugins noise "${NOISE[@]}" --seed "$1"; }  # typos SEED <CLEAN >NOISY
text() {  # training text with unexpected words, its dictionary, and held-out text, also with typos
    python "$HERE/text.py" "$OUT/text" --text $TEXT --language-files "$LANGUAGE_FILES" --copies $COPIES \
        ${LIST:+--frequencies "$LIST"}
    typos 2 <"$OUT/text/valid.clean" >"$OUT/text/valid.noisy"
    cp "$OUT/text/valid.noisy" "$OUT/text/valid.draft"
    typos 4 <"$OUT/text/calibration.clean" >"$OUT/text/calibration.noisy"
}
other() {
    mkdir -p "$OUT/other"
    [ "$OTHER" ] || python "$HERE/corpus.py" "$OUT/other" --packages numpy,scipy,sklearn,torch
    head -n 2000 "${OTHER:-$OUT/other/train.txt}" >"$OUT/other/clean"
    typos 3 <"$OUT/other/clean" >"$OUT/other/noisy"
}
once text text; once other other

once data lev-plugins prepare -s noisy -d draft -t clean --bpe words --joined-dictionary --clean-train \
    --srcdict "$OUT/text/dict.txt" --train-prefix "$OUT/text/train" --valid-prefix "$OUT/text/valid" --dest "$OUT/data"

once model fairseq-train "$OUT/data" --save-dir "$OUT/model" --user-dir "$(lev-plugins path)" $CPU --seed "$SEED" \
    --task text_editing -s noisy -t clean --draft-lang draft --rollin-alpha 1 --rollin-beta 1 --bpe words --spelling \
    --spelling-buckets 24576 "${NOISE[@]/#--/--noise-}" --noise-share 0.85 \
    --arch levt_tiny --encoder-layers 2 --decoder-layers 1 --dropout 0 \
    --encoder-embed-dim 160 --decoder-embed-dim 160 --encoder-ffn-embed-dim 320 --decoder-ffn-embed-dim 320 \
    --encoder-attention-heads 4 --decoder-attention-heads 4 --encoder-normalize-before --decoder-normalize-before \
    --share-all-embeddings --max-insertions 7 --criterion dual_policy --label-smoothing 0 \
    --placeholder-label-smoothing 0 --optimizer fused_adam --adam-betas '(0.9,0.98)' --clip-norm 1 \
    --max-tokens "$TOKENS" --num-workers 1 --lr 0.002 --lr-scheduler polynomial_decay --warmup-updates $((UPDATES / 20)) --total-num-update "$UPDATES" \
    --max-update "$UPDATES" --validate-interval-updates $((UPDATES / 5)) --save-interval-updates $((UPDATES / 5)) \
    --keep-interval-updates 1 --no-epoch-checkpoints --no-progress-bar --log-format simple --log-interval 50

once editor lev-plugins export "$OUT/model/checkpoint_last.pt" "$OUT/editor" --overwrite --bpe words \
    --iter-decode-max-iter 0 --data "$OUT/data" --language "${LANGUAGE_FILES##*/}" --words "$OUT/text/chat.txt" $EXPORT \
    --calibrate "$OUT/text/valid.noisy" "$OUT/text/valid.clean" --calibrate "$OUT/other/noisy" "$OUT/other/clean" \
    --calibrate "$OUT/text/calibration.noisy" "$OUT/text/calibration.clean" \
    --clean "$OUT/text/unexpected.clean" --promise-broken "$PROMISE"

score() {  # score NAME SYSTEM...: rows of the table, of what a system does to clean text and to the same with typos
    mkdir -p "$OUT/test/$1"
    for clean in "$TEST"/*.clean; do
        typos=${clean%.clean}.typos; kind=$(basename "$clean" .clean); out=$OUT/test/$1/$kind
        "${@:2}" <"$clean" >"$out.clean"
        "${@:2}" <"$typos" >"$out.typos"
        broken=$(harm score "$out.clean" "$clean")
        repaired=$(harm "% of typos repaired" "$out.typos" "$clean" --source "$typos")
        echo "| $kind | $1 | $broken | $repaired |"
    done >"$OUT/test/$1/rows"
}
score_once() { once "$1" score "$@"; }
score_once "this editor" lev-plugins edit "$OUT/editor"
spellers score_once
(printf '%s\n' '| | | right words broken, of 1,000 | typos repaired, % |' '|---|---|---|---|'
sort "$OUT"/test/*/rows) | tee "$OUT/report.md"
