#!/usr/bin/env bash
# Train a corrector of learners' English, `levt --spelling`, on synthetic mistakes, then on real ones: see README.md.
source "$(dirname "$0")/../once.sh"  # train_editor: the architecture, and flags of all editors
# OUT: folder of all output, where the same command continues after a stop; TEXT: clean English, one sentence per line
# (empty: the docstrings of installed packages); TUNE: M2 files of real mistakes; TEST_M2: M2 files to score beside TEST
OUT=${OUT:-runs/grammar} TEXT=${TEXT-} TUNE=${TUNE:-data/wi-locness/ABC.train.gold.bea19.m2}
TEST_M2=${TEST_M2-data/wi-locness/ABCN.dev.gold.bea19.m2}
BACKBONE=${BACKBONE-}  # folder of a pre-trained encoder (lev-plugins import-pretrained); empty: none
UPDATES=${UPDATES:-600} TUNE_UPDATES=${TUNE_UPDATES:-2100}  # on synthetic mistakes; on real ones, each four times, and
TUNE_SYNTHETIC=${TUNE_SYNTHETIC:-180000}  # sentences with synthetic mistakes, so that it does not forget typos
PROMISE=${PROMISE:-10}  # words of 1,000 right ones that it may break in text with many unexpected words
source "$HERE/../english/spellers.sh"
source "$HERE/score.sh"
same_settings TEXT TUNE TEST TEST_M2 M2_FLAGS BACKBONE UPDATES TUNE_UPDATES TUNE_SYNTHETIC PROMISE SEED TRAIN_FLAGS

[[ $TUNE:$TEST_M2 != *data/wi-locness* || -e data/wi-locness ]] || python "$HERE/../data.py" wi-locness

confusions() {  # words that are confused: those of the language, learners' own, and forms and slips in the text
    lev-plugins confusions "$OUT"/pairs/train.{noisy,clean} --unit word --longest 2 >"$OUT/pairs/confusions.tsv"
    python "$HERE/inflections.py" "$OUT/texts/train.clean" --learned "$OUT/pairs/confusions.tsv" >"$OUT/confusions.tsv"
}
noise() {  # noise SEED PREFIX: PREFIX.noisy and PREFIX.draft, of PREFIX.clean with synthetic mistakes
    lev-plugins noise --kind confusions:5,random:2,swap:0.5,split:0.2,run-on:0.3,swap-words:0.2 --word-rate 0.15 \
        --char-rate 0.1 --varied --confusions "$OUT/confusions.tsv" --seed "$1" <"$2.clean" >"$2.noisy"
}
mistakes() {
    head -n "$TUNE_SYNTHETIC" "$OUT/words/train.clean" >"$OUT/pairs/synthetic.clean"
    head -n 2000 "$OUT/docstrings/train.txt" >"$OUT/words/other.clean"
    noise $((SEED + 1)) "$OUT/words/valid"
    noise $((SEED + 2)) "$OUT/words/other"
    noise $((SEED + 3)) "$OUT/pairs/synthetic"
    for text in "$OUT"/{words,pairs}/*.noisy; do cp "$text" "${text%.noisy}.draft"; done  # edited is the noisy text
}
prepare() {
    lev-plugins prepare -s noisy -d draft -t clean --bpe words --joined-dictionary --srcdict "$OUT/words/dict.txt" "$@"
}
train() {  # train NAME DATA UPDATES RATE FLAG...: checkpoints in OUT/NAME
    train_editor "$2" "$OUT/$1" "$3" "$4" -s noisy -t clean --spelling $(sizes 2 256 768 4) \
        --optimizer adam --max-tokens 3000 "${@:5}" \
        ${BACKBONE:+--backbone "$BACKBONE" --optimizer scaled_adam --backbone-lr-factor 0.05}
}

once tests test_sets  # now, as missing files should not stop it after the training
once docstrings python "$HERE/../english/corpus.py" "$OUT/docstrings" --packages numpy,scipy,sklearn,torch
once pairs python "$HERE/texts.py" pairs "$OUT/pairs" $TUNE
once texts python "$HERE/texts.py" split "${TEXT:-$OUT/docstrings}" "$OUT/texts"
once words python "$HERE/../english/text.py" "$OUT/words" --text "$OUT/texts/train.clean" --copies 2 --listed 65000
once confusions confusions
once mistakes mistakes
once data prepare --clean-train --train-prefix "$OUT/words/train" --valid-prefix "$OUT/words/valid" --dest "$OUT/data"
once synthetic train synthetic "$OUT/data" "$UPDATES" 0.002 --noise-varied --noise-word-rate 0.15 \
    --noise-char-rate 0.1 --noise-kind confusions:5,random:2,swap:0.5,split:0.2,run-on:0.3,swap-words:0.2 \
    --noise-confusions "$OUT/confusions.tsv"
once real-data prepare --train-prefix "$OUT/pairs/train" --extra-train-prefix "$OUT/pairs/synthetic" \
    --valid-prefix "$OUT/pairs/valid" --dest "$OUT/real-data"
once real train real "$OUT/real-data" "$TUNE_UPDATES" 0.001 --upsample-primary 4 \
    --finetune-from-model "$OUT/synthetic/checkpoint_last.pt"
once editor lev-plugins export "$OUT/real/checkpoint_last.pt" "$OUT/editor" --overwrite --bpe words \
    --iter-decode-max-iter 0 --data "$OUT/data" --language en --words "$OUT/words/chat.txt" \
    --calibrate "$OUT/pairs/valid.noisy" "$OUT/pairs/valid.clean" --clean "$OUT/words/unexpected.clean" \
    --calibrate "$OUT/words/other.noisy" "$OUT/words/other.clean" --promise-broken "$PROMISE"
spellers score_once
score_once "editor, every edit" lev-plugins edit "$OUT/editor" --min-confidence 0
score_once "editor" lev-plugins edit "$OUT/editor"
tail -n +1 "$OUT"/test/*/*.score
