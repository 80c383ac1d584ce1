#!/usr/bin/env bash
# A LevT with spelling-aware words on the texts of run.sh, beside whose systems it is scored. It learns added noise from
# clean text, which becomes noisy while training; from pairs, it learns their repairs.
#     OUT=runs/denoising bash examples/denoising/levt.sh
#     TEXT=data/icdar2017 TRAIN=periodical.train TEST=periodical.valid OUT=runs/denoising-ocr \
#         bash examples/denoising/levt.sh
source "$(dirname "$0")/settings.sh"
LEVT_UPDATES=${LEVT_UPDATES:-800} LEVT_DROPOUT=${LEVT_DROPOUT:-0.1}
CLEAN=${CLEAN:-}  # pairs: file of clean text, one sentence per line; it also learns from this, with the pairs' mistakes
same_settings LEVT_UPDATES LEVT_DROPOUT CLEAN

prepare() {  # prepare NOISE FLAGS...: OUT/NOISE/words as data; the sources are the drafts, too
    local text="$OUT/$1/words"
    for split in train valid test; do cp "$text/$split.src" "$text/$split.draft"; done
    lev-plugins prepare -s src -t tgt -d draft --bpe words --joined-dictionary --train-prefix "$text/train" \
        --valid-prefix "$text/valid" --test-prefix "$text/test" --dest "$text/data" "${@:2}"
}
clean_text() {  # clean_text NOISE: each training line once, as noise is made while training
    mkdir -p "$OUT/$1/words"; cp "$OUT/$1"/*.{src,tgt} "$OUT/$1/words"
    awk '!seen[$0]++' "$OUT/$1/train.tgt" >"$OUT/$1/words/train.tgt"
    prepare "$1" --clean-dictionary --clean-train
}
pairs() {  # pairs NOISE: repairs without gaps, their confusions, and a list of more words
    local text="$OUT/$1/words"; mkdir -p "$text"; cp "$OUT/$1"/*.{src,tgt} "$text"
    for split in train valid; do python "$HERE/repairs.py" "$OUT/$1/$split".{src,tgt} "$text/$split"; done
    lev-plugins confusions "$text/train.src" "$text/train.tgt" >"$text/confusions.tsv"
    python "$HERE/widen.py" "$OUT/$1/train.tgt" "$text" --most 45000
    [ -z "$CLEAN" ] || python "$HERE/familiar.py" "$text/dict.txt" <"$CLEAN" >>"$text/words"
    for side in src draft tgt; do cp "$text/words" "$text/list.$side"; done
    prepare "$1" --tgtdict "$text/dict.txt" --extra-train-prefix "$text/list"
}
train_levt() {  # train_levt NOISE SEED FLAGS...
    train_editor "$OUT/$1/words/data" "$OUT/$1/levt_$2" "$LEVT_UPDATES" 0.002 -s src -t tgt --seed "$2" --spelling \
        --dropout "$LEVT_DROPOUT" --optimizer adam "${@:3}" |& tee -a "$OUT/$1/levt_$2.log"
}
edit() {  # edit NOISE SEED: the least confidence of an edit is chosen on the validation text
    lev-plugins export "$OUT/$1/levt_$2/checkpoint_last.pt" "$OUT/$1/editor_$2" --overwrite --bpe words \
        --iter-decode-max-iter 0 --data "$OUT/$1/words/data" --language en --edit-also all \
        --calibrate "$OUT/$1/valid.src" "$OUT/$1/valid.tgt"  # noise and scanners spare neither numbers nor signs
    local threshold; threshold=$(best_threshold "$OUT/$1/editor_$2" "$OUT/$1"/valid.{src,tgt})
    lev-plugins edit "$OUT/$1/editor_$2" --min-confidence "$threshold" <"$OUT/$1/test.src" >"$OUT/$1/levt_$2.txt"
}

download
once text text
for noise in ${NOISES//,/ }; do
    once $noise noise $noise
    once $noise-words $([ $noise = as-is ] && echo pairs || echo clean_text) $noise
    mistakes=$(flags $noise --noise-)
    [ $noise != as-is ] || mistakes="--noise-kind confusions --noise-confusions $OUT/as-is/words/confusions.tsv
        --noise-share 0.5 --noise-word-rate 0.25 ${CLEAN:+--upsample-primary 4}"  # in half of the pairs
    for seed in ${SEEDS//,/ }; do
        once $noise-levt-$seed train_levt $noise $seed $mistakes
        once $noise-levt-$seed-test edit $noise $seed
    done
    python "$HERE/scores.py" "$OUT/$noise" --metrics $METRICS
done
