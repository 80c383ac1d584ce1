#!/usr/bin/env bash
# Train the PBD, or a Transformer, on clean text with synthetic mistakes, then on real ones (TUNE): see README.md.
set -euo pipefail
HERE=$(dirname "$0")
OUT=${OUT:-runs/pbd}  # folder of all output; the same one continues after a stop
TEXT=${TEXT-}  # clean English, one sentence per line; empty: the docstrings of installed packages
TUNE=${TUNE-}  # M2 files of real mistakes for further training; empty: none
TEST=${TEST:-data/jfleg}  # folder with dev.src and dev.ref0, dev.ref1, ..., tokenised, as in JFLEG
TEST_M2=${TEST_M2-}  # M2 files to score as well
BOOST=${BOOST-}  # clean sentences that a model of TUNE's mistakes puts mistakes into, for the first training: boost.sh
ARCH=${ARCH:-pbd}  # pbd or transformer
VOCAB=${VOCAB:-8000}  # pieces of sentencepiece
LAYERS=${LAYERS:-2}; WIDTH=${WIDTH:-256}; FFN=${FFN:-1024}; HEADS=${HEADS:-4}  # sizes of the model
DROPOUT=${DROPOUT:-0.1}
TOKENS=${TOKENS:-4000}  # tokens in a batch
UPDATES=${UPDATES:-20000}  # updates on synthetic mistakes, a multiple of VALID_EVERY; 0: none, TUNE trains from scratch
LR=${LR:-0.001}; WARMUP=${WARMUP:-1000}  # peak learning rate, and the updates until then; it falls linearly to zero
TUNE_UPDATES=${TUNE_UPDATES:-5000}; TUNE_LR=${TUNE_LR:-0.0003}  # of the training on real mistakes
VALID_EVERY=${VALID_EVERY:-1000}; AVERAGE=${AVERAGE:-5}  # updates between checkpoints; how many are averaged
BEAM=${BEAM:-5}  # beam of the decoding
TRAIN_FLAGS=${TRAIN_FLAGS-}  # more flags of fairseq-train, such as --cpu-bf16
SEED=${SEED:-1}  # random seed
CPU=${CPU-$(command -v nvidia-smi >/dev/null || echo --cpu)}  # --cpu, or empty: use the GPUs
export OMP_NUM_THREADS=${THREADS:-2}  # CPU threads
source "$HERE/../once.sh"; source "$HERE/score.sh"
[[ $TEST != data/jfleg || -e $TEST ]] || lev-plugins data jfleg
pairs() {  # the real mistakes, and the words that learners confuse in them
    python "$HERE/texts.py" pairs "$OUT/pairs" $TUNE
    lev-plugins confusions "$OUT"/pairs/train.{noisy,clean} --unit word --longest 2 >"$OUT/learned.tsv"
}
texts() {
    [ "$TEXT" ] || python "$HERE/../english/corpus.py" "$OUT/docstrings" --packages numpy,scipy,sklearn,torch
    python "$HERE/texts.py" split "${TEXT:-$OUT/docstrings}" "$OUT/texts"
    python "$HERE/inflections.py" "$OUT/texts/train.clean" ${TUNE:+--learned "$OUT/learned.tsv"} >"$OUT/confusions.tsv"
    lev-plugins noise --kind confusions:2,random:2,swap-words:1 --word-rate 0.15 --confusions "$OUT/confusions.tsv" \
        --seed $((SEED + 1)) <"$OUT/texts/valid.clean" >"$OUT/texts/valid.noisy"
}
prepare() { lev-plugins prepare -s noisy -t clean --joined-dictionary "$@"; }
train() {  # train NAME DATA UPDATES LR FLAG...: checkpoints in OUT/NAME, and their average
    sizes="--layers $LAYERS --embed-dim $WIDTH --ffn-embed-dim $FFN --attention-heads $HEADS"
    [ "$ARCH" = pbd ] || sizes="${sizes//--/--encoder-} ${sizes//--/--decoder-}"
    fairseq-train "$2" --save-dir "$OUT/$1" --user-dir "$(lev-plugins path)" $CPU --seed "$SEED" \
        --task text_correction -s noisy -t clean --arch "$ARCH" $sizes --share-all-embeddings --dropout "$DROPOUT" \
        --criterion label_smoothed_cross_entropy --label-smoothing 0.1 --optimizer adam --adam-betas '(0.9,0.98)' \
        --lr "$4" --lr-scheduler polynomial_decay --warmup-updates "$WARMUP" --max-update "$3" --total-num-update "$3" \
        --clip-norm 1 --max-tokens "$TOKENS" --validate-interval 1000000 --validate-interval-updates "$VALID_EVERY" \
        --save-interval-updates "$VALID_EVERY" --keep-interval-updates "$AVERAGE" --no-epoch-checkpoints \
        --no-progress-bar --log-format simple --log-interval 100 "${@:5}" $TRAIN_FLAGS
    rm -f "$OUT/$1/average.pt"  # the last update has no file with its number if an epoch ends there
    lev-plugins average $(ls "$OUT/$1"/checkpoint_*_*.pt | grep -v "_$3.pt") "$OUT/$1/checkpoint_last.pt" \
        --output "$OUT/$1/average.pt"
}
once tests test_sets  # now, as missing files should not stop it after the training
[ ! "$TUNE" ] || once pairs pairs
once texts texts
once data prepare --train-prefix "$OUT/texts/train" --valid-prefix "$OUT/texts/valid" --learn-sentencepiece "$VOCAB" \
    --dest "$OUT/data"
data=$OUT/data; valid=$OUT/texts/valid; start=; pieces="--sentencepiece-model $OUT/data/sentencepiece.model"
[ ! "$TUNE" ] || once real-data prepare --srcdict "$OUT/data/dict.noisy.txt" $pieces --train-prefix "$OUT/pairs/train" \
    --valid-prefix "$OUT/pairs/valid" --dest "$OUT/real-data"
[ ! "$BOOST" ] || source "$HERE/boost.sh"  # changes data
if [ "$UPDATES" != 0 ]; then
    once synthetic train synthetic "$data" "$UPDATES" "$LR" --bpe sentencepiece $pieces --noise-seed "$SEED" \
        --noise-kind confusions:2,random:2,swap-words:1 --noise-word-rate 0.15 --noise-confusions "$OUT/confusions.tsv"
    model=$OUT/synthetic/average.pt; start="--finetune-from-model $model"
fi
if [ "$TUNE" ]; then
    once real train real "$OUT/real-data" "$TUNE_UPDATES" "$TUNE_LR" $start
    model=$OUT/real/average.pt; valid=$OUT/pairs/valid
fi
once editor lev-plugins export "$model" "$OUT/editor" --overwrite --data "$OUT/data" --bpe sentencepiece $pieces \
    --beam "$BEAM" --language en --calibrate "$valid.noisy" "$valid.clean"
threshold() { best_threshold "$OUT/editor" "$valid.noisy" "$valid.clean" >"$OUT/threshold"; }; once threshold threshold

score_once "corrected, every edit" lev-plugins edit "$OUT/editor" --min-confidence 0 $CPU
score_once "corrected" lev-plugins edit "$OUT/editor" --min-confidence "$(cat "$OUT/threshold")" $CPU
tail -n +1 "$OUT"/test/*/*.score
