# Sourced by the scripts of this folder: the text, the noise that is added to its sources, and how models are tested.
OUT=${OUT:-runs/denoising}  # folder of all output; a step in it is never repeated: other settings need another one
TEXT=${TEXT:-}  # folder of pairs, one sentence per line; empty: docstrings of the installed packages, which get noise
TRAIN=${TRAIN:-train} VALID=${VALID:-} TEST=${TEST:-}  # pairs: names of the files in that folder, NAME.SOURCE and
# NAME.TARGET; without VALID, a twentieth of the training pairs is held out; without either, they are split 80-10-10
SOURCE=${SOURCE:-src} TARGET=${TARGET:-tgt}  # suffixes of the sources and targets
SENTENCES=${SENTENCES:-0}  # keep the first N of each split (0: all)
NOISES=${NOISES:-$([ "$TEXT" ] && echo as-is || echo random,keyboard,swap,delete)}  # as-is: no noise; also random-swap
# (insertion, deletion and swaps) and swap-both (letters and words)
WORD_RATE=${WORD_RATE:-0.3}  # share of the words that are made noisy, as WRR counts it; at most 0.66 for swap-both
CHAR_RATE=${CHAR_RATE:-}  # share of the characters of such a word that slip; empty: one slip
ALPHABET=${ALPHABET:-}  # random noise: characters that it writes, or any; empty: letters of the same case
SHIFT_RATE=${SHIFT_RATE:-}  # keyboard noise: share of the slips that have the wrong shift as well
COPIES=${COPIES:-4}  # copies of the training text, each with different noise
SYMSPELL=${SYMSPELL:-$(python -c "import symspellpy" 2>/dev/null && echo yes || echo no)}  # a baseline: yes or no

text() {  # the splits, clean or as they are, as OUT/text/{train,valid,test}.{src,tgt}
    local files here=$(dirname "$0")
    if [ "$TEXT" ]; then
        files=(--source "$SOURCE" --target "$TARGET" --train "$TEXT/$TRAIN" ${VALID:+--valid "$TEXT/$VALID"}
            ${TEST:+--test "$TEXT/$TEST"})
    else
        python "$here/../english/corpus.py" "$OUT/corpus" --packages numpy,scipy,sklearn,torch
        files=(--train "$OUT/corpus/train.txt" --valid "$OUT/corpus/valid.txt" --test "$OUT/corpus/test.txt")
    fi
    python "$here/texts.py" "${files[@]}" --sentences "$SENTENCES" --output "$OUT/text" \
        --copies $([ "$NOISES" = as-is ] && echo 1 || echo "$COPIES")
}
flags() {  # flags NOISE PREFIX: for lev-plugins noise, and with the prefix --noise- for fairseq-train
    local kind=$1 rate=$WORD_RATE
    case $1 in
        random-swap) kind=insert,delete,swap ;;
        # Of two words that change places, lev-plugins noise counts both, but WRR misses one. Half of the slips swap words:
        # of 1.5 noisy words (0.5 by letters, 1 by places), WRR misses 1.
        swap-both) kind=swap,swap-words rate=$(awk "BEGIN { print 1.5 * $WORD_RATE }") ;;
    esac
    echo "$2kind $kind $2word-rate $rate" ${CHAR_RATE:+$2char-rate "$CHAR_RATE"}
    [[ $1 != random* ]] || echo ${ALPHABET:+$2alphabet "$ALPHABET"}
    [ $1 != keyboard ] || echo ${SHIFT_RATE:+$2shift-rate "$SHIFT_RATE"}
}
noise() {  # noise NOISE: the splits with noise, as OUT/NOISE/{train,valid,test}.{src,tgt}
    mkdir -p "$OUT/$1"; cp "$OUT"/text/*.{src,tgt} "$OUT/$1"
    [ $1 != as-is ] || return 0
    local seed=0 split; for split in train valid test; do
        seed=$((seed + 1))
        lev-plugins noise $(flags "$1" --) --seed $seed <"$OUT/text/$split.src" >"$OUT/$1/$split.src"
    done
}
symspell() {  # symspell NOISE FOLDER: the test of the folder, by a baseline that knows the words of the training text
    python "$(dirname "$0")/symspell.py" --words "$OUT/$1/train.tgt" <"$2/test.src" >"$2/symspell.txt"
}
decode() {  # decode FOLDER MODEL FLAGS...: the test set; and its likeliest pieces by teacher forcing, as the authors' code
    fairseq-generate "$1/data" --path "$1/$2/checkpoint_best.pt" "${FAIRSEQ[@]}" --gen-subset test --beam "$BEAM" \
        --max-len-a 1.5 --max-len-b 20 --max-tokens 6000 "${@:3}" >"$1/$2.out"
    python "$(dirname "$0")/forced.py" "$1/$2/checkpoint_best.pt" "$1/data" "${@:3}" $DEVICE \
        --references "$1/test.tgt" --output "$1/$2.forced.json"
}
