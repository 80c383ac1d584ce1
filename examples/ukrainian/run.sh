#!/usr/bin/env bash
# Train a corrector of spelling, punctuation and grammar of a language that is not English: see README.md.
source "$(dirname "$0")/../once.sh"  # train_editor: the architecture, and flags of all editors
# LANGUAGE_FILES: uk, or a folder with the files of your language (docs/language.md), whose code is CODE; PAIRS: folder
# with {train,valid}.{noisy,clean}, corrected sentences; TEXT: files of more clean text to train on, one sentence per
# line (empty: the clean side of the pairs alone); WORDS: words of the language, one per line (empty: those of the text)
OUT=${OUT:-runs/ukrainian}  # folder of all output; the same one continues after a stop
LANGUAGE_FILES=${LANGUAGE_FILES:-uk} CODE=${CODE:-$(basename "${LANGUAGE_FILES:-uk}")}
PAIRS=${PAIRS:-data/ua-gec} TEXT=${TEXT-} WORDS=${WORDS-/usr/share/dict/ukrainian}
OTHER=${OTHER-}  # clean text of another kind, to calibrate on; empty: messages of installed programs in the language
HARM=${HARM-}  # files of clean text of kinds that nothing here is trained or calibrated on, to score
LISTED=${LISTED:-34000}  # most frequent words that the editor knows; it sees some of the others as rare words
BACKBONE=${BACKBONE-}  # folder of a pre-trained encoder of the language (import-pretrained); empty: none
# UPSAMPLE: how often each pair comes among the synthetic ones; with 4, the editor learns them by heart
UPDATES=${UPDATES:-1600} UPSAMPLE=${UPSAMPLE:-1} DROPOUT=${DROPOUT:-0.1}
PROMISE=${PROMISE:-6}  # words of 1,000 right ones that it may break in OTHER, where it breaks most: RESULTS.md
# PEERS: score what a user could take instead as well (empty: the editor alone); HUNSPELL: the dictionary of one of them
PEERS=${PEERS-yes} HUNSPELL=${HUNSPELL:-uk_UA}
same_settings LANGUAGE_FILES PAIRS TEXT WORDS OTHER LISTED BACKBONE UPDATES UPSAMPLE DROPOUT PROMISE SEED TRAIN_FLAGS
lexicon=()  # words that exist: the editor reads those that its dictionary lacks as rare words
[ ! "$WORDS" ] || lexicon=(--lexicon "$OUT/lexicon.txt")
source "$HERE/texts.sh"
source "$HERE/score.sh"
[[ $PAIRS != data/ua-gec || -e $PAIRS ]] || python "$HERE/../data.py" ua-gec
[ ! "$WORDS" ] || [ -e "$WORDS" ] || { echo "there is no $WORDS: give WORDS=FILE, or WORDS= for none" >&2; exit 1; }

once pairs python "$HERE/pairs.py" "$PAIRS" "$OUT"
once words words
once confusions confusions
once mistakes mistakes
once gold gold  # now, as a missing HARM should not stop it after the training

once data lev-plugins prepare -s noisy -d draft -t clean --bpe words --joined-dictionary --dest "$OUT/data" \
    --srcdict "$OUT/words/dict.txt" "${lexicon[@]}" --train-prefix "$OUT/pairs/train" \
    --extra-train-prefix "$OUT/pairs/synthetic" --valid-prefix "$OUT/pairs/valid"
once model train_editor "$OUT/data" "$OUT/model" "$UPDATES" 0.002 -s noisy -t clean --spelling \
    --spelling-buckets 24576 $(sizes 2 160 480 4) --decoder-layers 1 --dropout "$DROPOUT" \
    --validate-interval-updates $((UPDATES / 4)) --save-interval-updates $((UPDATES / 4)) \
    --upsample-primary "$UPSAMPLE" ${BACKBONE:+--backbone "$BACKBONE" --optimizer scaled_adam --backbone-lr-factor 0.05}
# the hyphen before a line of dialogue is also a bullet of Markdown, which editors leave alone: --edit-also markup
once editor lev-plugins export "$OUT/model/checkpoint_best.pt" "$OUT/editor" --overwrite --bpe words \
    --iter-decode-max-iter 0 --data "$OUT/data" --language "$CODE" --edit-also markup --words "$OUT/words/chat.txt" \
    --calibrate "$OUT"/pairs/valid.{noisy,clean} --calibrate "$OUT"/words/other.{noisy,clean} \
    --clean "$OUT/pairs/valid.clean" --clean "$OUT/words/other.clean" --promise-broken "$PROMISE"

score "this editor" lev-plugins edit "$OUT/editor"
score "this editor, every edit" lev-plugins edit "$OUT/editor" --min-confidence 0
[ ! "$PEERS" ] || peers
python "$HERE/table.py" "$OUT/test" | tee "$OUT/report.md"
