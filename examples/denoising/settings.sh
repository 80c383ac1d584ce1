# Sourced by the scripts of this folder: settings, which are variables of the environment, the text, the noise that is
# added to its sources, and how systems with and without gates are trained and tested.
source "$(dirname "${BASH_SOURCE[0]}")/../once.sh"

OUT=${OUT:-runs/denoising}  # folder of all output; a step in it is never repeated: other settings need another one
TEXT=${TEXT:-}  # folder of pairs, one sentence per line; empty: docstrings of the installed packages, which get noise
TRAIN=${TRAIN:-train} VALID=${VALID:-} TEST=${TEST:-}  # pairs: names of the files in that folder, NAME.SOURCE and
# NAME.TARGET; without VALID, a twentieth of the training pairs is held out; without either, they are split 80-10-10
SOURCE=${SOURCE:-src} TARGET=${TARGET:-tgt}  # suffixes of the sources and targets
NOISES=${NOISES:-$([ "$TEXT" ] && echo as-is || echo random,keyboard,swap,delete)}  # as-is: no noise; also random-swap
# (insertion, deletion and swaps) and swap-both (letters and words)
# WORD_RATE: share of the words that are made noisy, as WRR counts it, at most 0.66 for swap-both; COPIES: of the
# training text, each with different noise; ALPHABET: characters that random noise writes, or any (empty: letters of the
# same case); SHIFT_RATE: share of the slips of the keyboard noise that have the wrong shift as well
WORD_RATE=${WORD_RATE:-0.3} COPIES=${COPIES:-4} ALPHABET=${ALPHABET:-} SHIFT_RATE=${SHIFT_RATE:-}
SYMSPELL=${SYMSPELL:-$(python -c "import symspellpy" 2>/dev/null && echo yes || echo no)}  # a baseline: yes or no
# SYSTEMS: the gates none, MG, CG, MCG (mask, copy, generate), all (and skip); SEEDS: one training each; GATE_MIX,
# COPY_FROM: see docs/papers.md
SYSTEMS=${SYSTEMS:-none,MCG} SEEDS=${SEEDS:-1,2,3} GATE_MIX=${GATE_MIX:-probability} COPY_FROM=${COPY_FROM:-source}
UPDATES=${UPDATES:-3000} VALID_EVERY=${VALID_EVERY:-750}  # updates, also between two validations (and checkpoints)
LR=${LR:-0.0015} WARMUP=${WARMUP:-200}  # peak learning rate; updates until then; it falls linearly to zero
# METRICS: wrr, bleu, rouge, exact; as the authors' code: wrr-set, sentence-bleu; BEAM: of the test
METRICS=${METRICS:-wrr,bleu} BEAM=${BEAM:-4}
same_settings TEXT TRAIN VALID TEST SOURCE TARGET WORD_RATE COPIES ALPHABET SHIFT_RATE

CORRECTION=("${FAIRSEQ[@]}" -s src -t tgt --task text_correction
    --required-batch-size-multiple 1)  # by default, fairseq leaves out up to 7 sentences of a set
declare -A GATES=([none]= [all]=mask,copy,generate,skip [MG]=mask,generate [CG]=copy,generate [MCG]=mask,copy,generate)

text() {  # the splits, clean or as they are, as OUT/text/{train,valid,test}.{src,tgt}
    local copies=$COPIES files=(--train "$TEXT/$TRAIN" --source "$SOURCE" --target "$TARGET"
        ${VALID:+--valid "$TEXT/$VALID"} ${TEST:+--test "$TEXT/$TEST"})
    if [ ! "$TEXT" ]; then
        python "$HERE/../english/corpus.py" "$OUT/corpus" --packages numpy,scipy,sklearn,torch
        files=(--train "$OUT/corpus/train.txt" --valid "$OUT/corpus/valid.txt" --test "$OUT/corpus/test.txt")
    fi
    [ "$NOISES" != as-is ] || copies=1
    python "$HERE/texts.py" "${files[@]}" --copies $copies --output "$OUT/text"
}
download() { [ -z "$TEXT" ] || [ -d "$TEXT" ] || python "$HERE/../data.py" "$(basename "$TEXT")" "$TEXT"; }
flags() {  # flags NOISE PREFIX: for lev-plugins noise, and with the prefix --noise- for fairseq-train
    local kind=$1 rate=$WORD_RATE
    case $1 in
        random-swap) kind=insert,delete,swap ;;
        # Of two words that change places, lev-plugins noise counts both, but WRR misses one. Half of the slips swap words:
        # of 1.5 noisy words (0.5 by letters, 1 by places), WRR misses 1.
        swap-both) kind=swap,swap-words rate=$(awk "BEGIN { print 1.5 * $WORD_RATE }") ;;
    esac
    echo "$2kind $kind $2word-rate $rate"
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
    python "$HERE/symspell.py" --words "$OUT/$1/train.tgt" <"$2/test.src" >"$2/symspell.txt"
}
train() {  # train FOLDER SYSTEM SEED FLAGS...: into FOLDER/SYSTEM_SEED
    fairseq-train "$1/data" --save-dir "$1/$2_$3" "${CORRECTION[@]}" --log-format simple --log-interval 50 \
        --seed "$3" --gates "${GATES[$2]?unknown SYSTEMS: $2}" --gate-mix "$GATE_MIX" \
        --copy-from "$COPY_FROM" --criterion label_smoothed_cross_entropy --report-accuracy \
        --eval-bleu-args '{"beam": 1}' --clip-norm 1 --weight-decay 0.001 --patience 10 "${@:4}" $TRAIN_FLAGS |&
        tee -a "$1/$2_$3.log"
}
decode() {  # decode FOLDER MODEL FLAGS...: the test set; and its likeliest pieces by teacher forcing, as the authors' code
    fairseq-generate "$1/data" --path "$1/$2/checkpoint_best.pt" "${CORRECTION[@]}" \
        --gen-subset test --beam "$BEAM" --max-len-a 1.5 --max-len-b 20 --max-tokens 6000 "${@:3}" >"$1/$2.out"
    python "$HERE/forced.py" "$1/$2/checkpoint_best.pt" "$1/data" "${@:3}" $CPU \
        --references "$1/test.tgt" --output "$1/$2.forced.json"
}
compare() {  # compare NOISE FOLDER BPE...: all systems, trained with the flags in TRAINING, and their scores
    [ "$SYMSPELL" = no ] || once $1-symspell symspell $1 "$2"
    for system in ${SYSTEMS//,/ }; do for seed in ${SEEDS//,/ }; do
        once $1-$system-$seed train "$2" $system $seed "${TRAINING[@]}"
        once $1-$system-$seed-test decode "$2" ${system}_$seed "${@:3}"
    done; done
    python "$HERE/scores.py" "$2" --metrics $METRICS
}
