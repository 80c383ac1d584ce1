#!/usr/bin/env bash
# Remove noise, with and without gates, as in section 4.3.1 of the gated-Trans paper.
#
#     bash examples/denoising/run.sh
#     TEXT=data/icdar2017 TRAIN=periodical.train TEST=periodical.valid OUT=runs/denoising-ocr \
#         bash examples/denoising/run.sh
source "$(dirname "$0")/settings.sh"
VOCAB=${VOCAB:-1000} TOKENS=${TOKENS:-1000}  # sentencepiece: number of pieces; tokens in a batch
same_settings VOCAB TOKENS UPDATES VALID_EVERY LR WARMUP GATE_MIX COPY_FROM BEAM

TRAINING=(--arch gated_trans $(sizes 2 128 256 4) --encoder-normalize-before --decoder-normalize-before
    --share-all-embeddings --dropout 0.1 --label-smoothing 0.1 --eval-wrr --eval-bleu-remove-bpe sentencepiece
    --best-checkpoint-metric wrr --maximize-best-checkpoint-metric --optimizer adam --adam-betas '(0.9,0.98)'
    --max-tokens "$TOKENS" $(linear_rate "$LR" "$WARMUP" "$UPDATES") $(checkpoint_every "$VALID_EVERY"))

download
once text text
for noise in ${NOISES//,/ }; do
    once $noise noise $noise
    once $noise-data lev-plugins prepare -s src -t tgt --train-prefix "$OUT/$noise/train" --valid-prefix \
        "$OUT/$noise/valid" --test-prefix "$OUT/$noise/test" --learn-sentencepiece "$VOCAB" --joined-dictionary \
        --dest "$OUT/$noise/data"
    compare $noise "$OUT/$noise" --bpe sentencepiece --sentencepiece-model "$OUT/$noise/data/sentencepiece.model"
done
