#!/usr/bin/env bash
# Train a small editor that repairs typos, in five minutes on a CPU, and show how it decodes and edits: see README.md.
set -euo pipefail
HERE=$(dirname "$0")
OUT=${OUT:-demo-out}  # folder of all output; the same one continues after a stop
PACKAGES=${PACKAGES-numpy,scipy,sklearn,torch}  # docstrings to read, beside Python's own
SENTENCES=${SENTENCES:-0}  # use the first N of training, validation and test (0: all)
UPDATES=${UPDATES:-400}  # length of the training
PROMISE=${PROMISE:-20}  # words of 1,000 right ones that it may break in held-out text with many unexpected words
export OMP_NUM_THREADS=${THREADS:-1}  # CPU threads; the noise of the training is made by a second process
source "$HERE/../once.sh"
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

model() {
    fairseq-train "$OUT/data" --save-dir "$OUT/model" --user-dir "$(lev-plugins path)" --cpu --seed 1 \
        --distributed-world-size 1 --task text_editing -s noisy -t clean --draft-lang draft --bpe words --spelling \
        --rollin-alpha 1 --rollin-beta 1 --noise-kind insert,delete,substitute,swap,keyboard --noise-varied \
        --noise-language-files en --noise-word-rate 0.2 --noise-char-rate 0.16 --noise-min-letters 3 \
        --noise-share 0.85 --arch levt_tiny --encoder-layers 2 --decoder-layers 1 --encoder-embed-dim 160 \
        --decoder-embed-dim 160 --encoder-ffn-embed-dim 320 --decoder-ffn-embed-dim 320 --encoder-attention-heads 4 \
        --decoder-attention-heads 4 --encoder-normalize-before --decoder-normalize-before --share-all-embeddings \
        --max-insertions 7 --dropout 0 --criterion dual_policy --label-smoothing 0 --placeholder-label-smoothing 0 \
        --optimizer fused_adam --adam-betas '(0.9,0.98)' --clip-norm 1 --max-tokens 2500 --num-workers 1 --lr 0.002 \
        --lr-scheduler polynomial_decay --warmup-updates $((UPDATES / 20)) --total-num-update "$UPDATES" \
        --max-update "$UPDATES" --validate-interval-updates "$UPDATES" --save-interval-updates $((UPDATES / 2)) \
        --keep-interval-updates 1 --no-epoch-checkpoints --no-progress-bar --log-format simple --log-interval 5 \
        2>&1 | tee -a "$OUT/train.log" | progress "$UPDATES"
}
once "train a Levenshtein Transformer, $UPDATES updates" model

decode=("$OUT/data" --path "$OUT/model/checkpoint_last.pt" --user-dir "$(lev-plugins path)" --task text_editing
    -s noisy -t clean --draft-lang draft --bpe words --cpu --iter-decode-max-iter 9)
history() { fairseq-generate "${decode[@]}" --gen-subset valid --max-tokens 2500 --retain-iter-history --print-step; }
generate() { history >"$OUT/test/generate.log" 2>"$OUT/test/generate.err"; }
once "decode held-out sentences" generate
printf '\nTwo of them, with all that is deleted (-) and inserted (+):\n'
lev-plugins trace "$OUT/test/generate.log" | awk '/^ *(draft|delete|open|fill|result)/ && n++ < 12'
printf '\nA source and a draft that are typed, for fairseq-interactive (H: the edited draft):\n'
printf 'Return the values of the function.\tRetrun the vlaues of function.\n' |
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
    row="| $(basename "$output" .out) | \\3 | \\2 | \\1 |"
    lev-plugins score harm "$output" "$OUT/text/test.clean" --source "$OUT/text/test.noisy" |
        sed -E "s/.*words = ([0-9.]+).* repaired ([0-9.]+), % of words right ([0-9.]+).*/$row/"
done) | tee "$OUT/report.md"
printf '\nSome of its edits:\n'
awk 'NF < 15 && n++ < 40' "$OUT/text/test.noisy" | lev-plugins edit "$OUT/editor" --diff | awk '/\[-|{[+]/ && n++ < 5'
echo "Edit text of your own with: lev-plugins edit $OUT/editor, or in the browser: lev-plugins serve $OUT/editor"
