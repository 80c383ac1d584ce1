#!/usr/bin/env bash
# Train a small editor that repairs typos, in five to eight minutes on a CPU, and show how it decodes and edits: see README.md.
THREADS=${THREADS:-1}  # CPU threads; the noise of the training is made by a second process
source "$(dirname "$0")/../once.sh"  # train_editor: the architecture, and flags of all editors
# OUT: folder of all output, where the same command continues after a stop; PACKAGES: docstrings to read, beside
# Python's own; SENTENCES: use the first N of training, validation and test (0: all); UPDATES: length of the training
OUT=${OUT:-demo-out} PACKAGES=${PACKAGES-numpy,scipy,sklearn,torch} SENTENCES=${SENTENCES:-0} UPDATES=${UPDATES:-400}
PROMISE=${PROMISE:-20}  # words of 1,000 right ones that it may break in held-out text with many unexpected words
same_settings PACKAGES SENTENCES UPDATES PROMISE TRAIN_FLAGS
mkdir -p "$OUT/test"

text() {
    python "$HERE/corpus.py" "$OUT/text" --packages "$PACKAGES" --sentences "$SENTENCES"
    python "$HERE/text.py" "$OUT/text" --text "$OUT/text/train.txt" --valid "$OUT/text/valid.txt" --rare-words \
        --occurrences 1 --listed 25000
    cp "$OUT/text/test.txt" "$OUT/text/test.clean"
}
typos() {  # in the held-out text; training makes its own, and none of valid's and test's is among them
    lev-plugins noise --kind insert,delete,substitute,swap,keyboard --language-files en --word-rate 0.2 \
        --char-rate 0.16 --min-letters 3 --varied --seed 4 <"$OUT/text/unexpected.clean" >"$OUT/text/unexpected.noisy"
    for split in valid test; do
        python "$HERE/typos.py" "$OUT/text/$split.clean" "$OUT/text/$split.noisy" --train "$OUT/text/train.clean" \
            --updates "$UPDATES" --tokens 2500 --rate 0.2
        cp "$OUT/text/$split.noisy" "$OUT/text/$split.draft"
    done
}
once "collect English sentences from the docstrings of installed packages" text
once "misspell words of the held-out sentences" typos
once "cut the text into words and binarise it" lev-plugins prepare -s noisy -d draft -t clean --bpe words \
    --joined-dictionary --srcdict "$OUT/text/dict.txt" --clean-train --train-prefix "$OUT/text/train" \
    --valid-prefix "$OUT/text/valid" --test-prefix "$OUT/text/test" --dest "$OUT/data"

model() {  # --seed 1: typos.py excludes the typos that this seed makes; --cpu: as the times in README.md
    train_editor "$OUT/data" "$OUT/model" "$UPDATES" 0.002 --cpu --seed 1 --distributed-world-size 1 -s noisy -t clean \
        --spelling --noise-kind insert,delete,substitute,swap,keyboard --noise-varied \
        --noise-language-files en --noise-word-rate 0.2 --noise-char-rate 0.16 --noise-min-letters 3 \
        --noise-share 0.85 --validate-interval-updates "$UPDATES" --save-interval-updates $((UPDATES / 2)) \
        --log-interval 5 2>&1 | tee -a "$OUT/train.log" | python "$HERE/progress.py" "$UPDATES"
}
once "train a Levenshtein Transformer" model

decode=("$OUT/data" --path "$OUT/model/checkpoint_last.pt" --user-dir "$(lev-plugins path)" --task text_editing
    -s noisy -t clean --draft-lang draft --bpe words --cpu --iter-decode-max-iter 9 --required-batch-size-multiple 1)
generate() {
    fairseq-generate "${decode[@]}" --gen-subset valid --max-tokens 2500 --retain-iter-history --print-step \
        >"$OUT/test/generate.log" 2>"$OUT/test/generate.err"
    grep '^D-' "$OUT/test/generate.log" | sort -V | cut -f 3 >"$OUT/test/generated"  # in the order of the text
}
once "decode held-out sentences" generate
printf '\nTwo sentences that it repairs, with all that is deleted (-) and inserted (+):\n'
chosen=$(python "$HERE/repaired.py" "$OUT/text/valid.noisy" "$OUT/test/generated" "$OUT/text/valid.clean" --lines 2 |
    cut -f 1 | paste -sd ,)
[ ! "$chosen" ] || lev-plugins trace "$OUT/test/generate.log" --select "$chosen" |
    grep -E '^ *(draft|delete|open|fill|result)'
printf '\nA source and a draft that are typed, for fairseq-interactive (H: the edited draft):\n'
printf 'Return the values of the function.\tRetrun the vlaues of the function.\n' |
    fairseq-interactive "${decode[@]}" 2>"$OUT/test/interactive.err" | grep '^[SDH]'

once "make a model folder" lev-plugins export "$OUT/model/checkpoint_last.pt" "$OUT/editor" \
    --overwrite --bpe words --iter-decode-max-iter 0 --data "$OUT/data" --language en \
    --calibrate "$OUT/text/valid.noisy" "$OUT/text/valid.clean" --clean "$OUT/text/unexpected.clean" \
    --calibrate "$OUT/text/unexpected.noisy" "$OUT/text/unexpected.clean" --promise-broken "$PROMISE"
cp "$OUT/text/test.noisy" "$OUT/test/do nothing.out"
lev-plugins edit "$OUT/editor" <"$OUT/text/test.noisy" >"$OUT/test/this editor.out"
symspell() { python "$HERE/../denoising/symspell.py" --words "$OUT/text/train.clean" <"$OUT/text/test.noisy"; }
python -c 'import symspellpy' 2>/dev/null && symspell >"$OUT/test/SymSpell.out"

(printf '%s\n' '| | words right, % | typos repaired, % | right words broken, of 1,000 |' '|---|---|---|---|'
for output in "$OUT"/test/*.out; do
    lev-plugins score harm "$output" "$OUT/text/test.clean" --source "$OUT/text/test.noisy" --json >"$OUT/test/scores"
    echo "| $(basename "$output" .out) | $(number %.1f "% of words right" <"$OUT/test/scores") |" \
        "$(number %.1f "% of typos repaired" <"$OUT/test/scores") | $(number %.1f score <"$OUT/test/scores") |"
done) | tee "$OUT/report.md"
printf '\nFour lines that it repairs:\n'
python "$HERE/repaired.py" "$OUT/text/test.noisy" "$OUT/test/this editor.out" "$OUT/text/test.clean" --lines 4 |
    cut -f 2 | lev-plugins edit "$OUT/editor" --diff
echo "Edit text of your own with: lev-plugins edit $OUT/editor, or in the browser: lev-plugins serve $OUT/editor"
