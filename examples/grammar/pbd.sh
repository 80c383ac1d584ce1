#!/usr/bin/env bash
# Train the PBD, or a Transformer, on clean text with synthetic mistakes, then on real ones (TUNE): see README.md.
source "$(dirname "$0")/../once.sh"
# OUT: folder of all output, where the same command continues after a stop; TEXT: clean English, one sentence per line
# (empty: the docstrings of installed packages); TUNE: M2 files of real mistakes for further training (empty: none);
# TEST_M2: M2 files to score beside TEST; BOOST: clean sentences that a model of TUNE's mistakes puts mistakes into, for
# the first training (boost.sh); ARCH: pbd or transformer
OUT=${OUT:-runs/pbd} TEXT=${TEXT-} TUNE=${TUNE-} TEST_M2=${TEST_M2-} BOOST=${BOOST-} ARCH=${ARCH:-pbd}
LAYERS=${LAYERS:-2} WIDTH=${WIDTH:-256} FFN=${FFN:-1024} HEADS=${HEADS:-4}  # sizes of the model
VOCAB=${VOCAB:-8000} TOKENS=${TOKENS:-4000} BEAM=${BEAM:-5}  # pieces of sentencepiece; tokens in a batch; beam
UPDATES=${UPDATES:-20000}  # updates on synthetic mistakes, a multiple of VALID_EVERY; 0: none, TUNE trains from scratch
LR=${LR:-0.001} WARMUP=${WARMUP:-1000}  # peak learning rate, and the updates until then; it falls linearly to zero
TUNE_UPDATES=${TUNE_UPDATES:-5000} TUNE_LR=${TUNE_LR:-0.0003}  # of the training on real mistakes
BOOST_UPDATES=${BOOST_UPDATES:-5000}  # of the model for BOOST, a multiple of VALID_EVERY; it has to learn to copy first
VALID_EVERY=${VALID_EVERY:-1000} AVERAGE=${AVERAGE:-5}  # updates between checkpoints; how many are averaged
source "$HERE/score.sh"
same_settings TEXT TUNE TEST TEST_M2 M2_FLAGS BOOST ARCH LAYERS WIDTH FFN HEADS VOCAB TOKENS BEAM UPDATES LR WARMUP \
    TUNE_UPDATES TUNE_LR BOOST_UPDATES VALID_EVERY AVERAGE SEED TRAIN_FLAGS
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
train() {  # train NAME DATA UPDATES RATE FLAG...: checkpoints in OUT/NAME, and their average
    local size="--layers $LAYERS --embed-dim $WIDTH --ffn-embed-dim $FFN --attention-heads $HEADS"
    [ "$ARCH" = pbd ] || size=$(sizes "$LAYERS" "$WIDTH" "$FFN" "$HEADS")
    fairseq-train "$2" --save-dir "$OUT/$1" "${FAIRSEQ[@]}" --log-format simple --log-interval 100 --seed "$SEED" \
        --task text_correction -s noisy -t clean --arch "$ARCH" $size --share-all-embeddings --dropout 0.1 \
        --criterion label_smoothed_cross_entropy --label-smoothing 0.1 --optimizer adam --adam-betas '(0.9,0.98)' \
        --clip-norm 1 --max-tokens "$TOKENS" $(linear_rate "$4" "$WARMUP" "$3") $(checkpoint_every "$VALID_EVERY") \
        --keep-interval-updates "$AVERAGE" "${@:5}" $TRAIN_FLAGS
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

score_once "corrected, every edit" lev-plugins edit "$OUT/editor" --min-confidence 0
score_once "corrected" lev-plugins edit "$OUT/editor" --min-confidence "$(cat "$OUT/threshold")"
tail -n +1 "$OUT"/test/*/*.score
