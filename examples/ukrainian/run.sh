#!/usr/bin/env bash
# Train a corrector of spelling, punctuation and grammar of a language that is not English: see README.md.
set -euo pipefail
HERE=$(dirname "$0")
OUT=${OUT:-runs/ukrainian}  # folder of all output; the same one continues after a stop
LANGUAGE_FILES=${LANGUAGE_FILES:-uk}  # uk, or a folder with the files of your language: docs/language.md
CODE=${CODE:-$(basename "$LANGUAGE_FILES")}  # of the language
PAIRS=${PAIRS:-data/ua-gec}  # folder with {train,valid}.{noisy,clean}, corrected sentences
TEXT=${TEXT-}  # files of more clean text to train on, one sentence per line; empty: the clean side of the pairs alone
WORDS=${WORDS-/usr/share/dict/ukrainian}  # words of the language, one per line; empty: those of the text alone
OTHER=${OTHER-}  # clean text of another kind, to calibrate on; empty: messages of installed programs in the language
HARM=${HARM-}  # files of clean text of kinds that nothing here is trained or calibrated on, to score
LISTED=${LISTED:-34000}  # most frequent words that the editor knows; it sees some of the others as rare words
COPIES=${COPIES:-2}  # of the clean text, each with other unexpected words and mistakes
BACKBONE=${BACKBONE-}  # folder of a pre-trained encoder of the language (import-pretrained); empty: none
UPDATES=${UPDATES:-1600}  # length of the training
UPSAMPLE=${UPSAMPLE:-1}  # how often each pair comes among the synthetic ones: with 4, the editor learns them by heart
DROPOUT=${DROPOUT:-0.1}
EDIT_ALSO=${EDIT_ALSO:-markup}  # the hyphen before a line of dialogue is also a bullet of Markdown, which editors leave alone
PROMISE=${PROMISE:-9}  # words of 1,000 right ones that it may break in OTHER, where it breaks most: RESULTS.md
TRAIN_FLAGS=${TRAIN_FLAGS-}  # more flags of fairseq-train, such as --cpu-bf16
PEERS=${PEERS-yes}  # score what a user could take instead as well; empty: the editor alone
HUNSPELL=${HUNSPELL:-uk_UA}  # dictionary of one of them
SEED=${SEED:-1}  # random seed
CPU=${CPU-$(command -v nvidia-smi >/dev/null || echo --cpu)}  # --cpu, or empty: use the GPUs
export OMP_NUM_THREADS=${THREADS:-2}  # CPU threads
for script in ../once.sh texts.sh score.sh; do source "$HERE/$script"; done
[[ $PAIRS != data/ua-gec || -e $PAIRS ]] || lev-plugins data ua-gec
[ ! "$WORDS" ] || [ -e "$WORDS" ] || { echo "there is no $WORDS: give WORDS=FILE, or WORDS= for none" >&2; exit 1; }

once pairs pairs
once words words
once confusions confusions
once mistakes mistakes
once gold gold  # now, as a missing HARM should not stop it after the training

once data lev-plugins prepare -s noisy -d draft -t clean --bpe words --joined-dictionary --srcdict "$OUT/words/dict.txt" \
    --train-prefix "$OUT/pairs/train" --extra-train-prefix "$OUT/pairs/synthetic" --valid-prefix "$OUT/pairs/valid" \
    --dest "$OUT/data"
once model fairseq-train "$OUT/data" --save-dir "$OUT/model" --user-dir "$(lev-plugins path)" $CPU --seed "$SEED" \
    --task text_editing -s noisy -t clean --draft-lang draft --rollin-alpha 1 --rollin-beta 1 --bpe words --spelling \
    --spelling-buckets 24576 --arch levt_tiny --encoder-layers 2 --decoder-layers 1 --encoder-embed-dim 160 \
    --decoder-embed-dim 160 --encoder-ffn-embed-dim 480 --decoder-ffn-embed-dim 480 --encoder-attention-heads 4 \
    --decoder-attention-heads 4 --encoder-normalize-before --decoder-normalize-before --share-all-embeddings \
    --max-insertions 7 --dropout "$DROPOUT" --criterion dual_policy --label-smoothing 0 --placeholder-label-smoothing 0 \
    --optimizer fused_adam --adam-betas '(0.9,0.98)' --clip-norm 1 --max-tokens 2500 --num-workers 1 --lr 0.002 \
    --lr-scheduler polynomial_decay --warmup-updates $((UPDATES / 20)) --max-update "$UPDATES" \
    --total-num-update "$UPDATES" --upsample-primary "$UPSAMPLE" --validate-interval-updates $((UPDATES / 4)) \
    --save-interval-updates $((UPDATES / 4)) --keep-interval-updates 1 --no-epoch-checkpoints --no-progress-bar \
    --log-format simple --log-interval 50 ${BACKBONE:+--backbone "$BACKBONE" --optimizer scaled_adam \
    --backbone-lr-factor 0.05} $TRAIN_FLAGS
once editor lev-plugins export "$OUT/model/checkpoint_best.pt" "$OUT/editor" --overwrite --bpe words \
    --iter-decode-max-iter 0 --data "$OUT/data" --language "$CODE" --edit-also "$EDIT_ALSO" --words "$OUT/words/chat.txt" \
    --calibrate "$OUT"/pairs/valid.{noisy,clean} --calibrate "$OUT"/words/other.{noisy,clean} \
    --clean "$OUT/pairs/valid.clean" --clean "$OUT/words/other.clean" --promise-broken "$PROMISE"

once "score editor" score "this editor" lev-plugins edit "$OUT/editor"
once "score every edit" score "this editor, every edit" lev-plugins edit "$OUT/editor" --min-confidence 0
[ ! "$PEERS" ] || peers
table | tee "$OUT/report.md"
