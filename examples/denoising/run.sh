#!/usr/bin/env bash
# Remove noise, with and without gates, as in section 4.3.1 of the gated-Trans paper.
#
#     bash examples/denoising/run.sh
#     TEXT=data/icdar2017 TRAIN=periodical.train TEST=periodical.valid OUT=runs/denoising-ocr \
#         bash examples/denoising/run.sh
set -euo pipefail
source "$(dirname "$0")/../once.sh"
source "$(dirname "$0")/texts.sh"  # with the settings of the text and the noise

SYSTEMS=${SYSTEMS:-none,MCG}  # gates: none, MG, CG, MCG (mask, copy, generate), all (and skip)
SEEDS=${SEEDS:-1,2,3}  # one training each
GATE_MIX=${GATE_MIX:-probability} COPY_FROM=${COPY_FROM:-source}  # see docs/papers.md
VOCAB=${VOCAB:-1000}  # sentencepiece: number of pieces
LAYERS=${LAYERS:-2} WIDTH=${WIDTH:-128} FFN=${FFN:-256} HEADS=${HEADS:-4}  # of encoder and decoder
TOKENS=${TOKENS:-1000}  # tokens in a batch
UPDATES=${UPDATES:-3000} LR=${LR:-0.0015} WARMUP=${WARMUP:-200}  # the learning rate falls linearly to zero
VALID_EVERY=${VALID_EVERY:-750} PATIENCE=${PATIENCE:-10}  # updates between two validations; stop after N without gain
TRAIN_FLAGS=${TRAIN_FLAGS:-}  # more flags for fairseq-train; the last of equal flags applies
METRICS=${METRICS:-wrr,bleu}  # wrr, bleu, rouge, exact; as the authors' code: wrr-set, sentence-bleu
BEAM=${BEAM:-4} THREADS=${THREADS:-2}  # beam of the test; threads of a training on the CPU

export OMP_NUM_THREADS=$THREADS
DEVICE=$(command -v nvidia-smi >/dev/null || echo --cpu)
FAIRSEQ=(-s src -t tgt --user-dir "$(lev-plugins path)" --task text_correction $DEVICE --no-progress-bar
    --required-batch-size-multiple 1)  # by default, fairseq leaves out up to 7 sentences of a set
SIZES=$(for side in encoder decoder; do echo "--$side-layers $LAYERS --$side-embed-dim $WIDTH --$side-normalize-before
    --$side-ffn-embed-dim $FFN --$side-attention-heads $HEADS"; done)
declare -A GATES=([none]= [all]=mask,copy,generate,skip [MG]=mask,generate [CG]=copy,generate [MCG]=mask,copy,generate)

train() {  # train NOISE SYSTEM SEED
    fairseq-train "$OUT/$1/data" --save-dir "$OUT/$1/$2_$3" "${FAIRSEQ[@]}" --log-format simple --log-interval 50 \
        --arch gated_trans --gates "${GATES[$2]?unknown SYSTEMS: $2}" --gate-mix "$GATE_MIX" \
        --copy-from "$COPY_FROM" $SIZES --share-all-embeddings --dropout 0.1 \
        --criterion label_smoothed_cross_entropy --label-smoothing 0.1 \
        --report-accuracy --eval-wrr --eval-bleu-remove-bpe sentencepiece --eval-bleu-args '{"beam": 1}' \
        --best-checkpoint-metric wrr --maximize-best-checkpoint-metric --optimizer adam --adam-betas '(0.9,0.98)' \
        --lr "$LR" --lr-scheduler polynomial_decay --warmup-updates "$WARMUP" --max-update "$UPDATES" \
        --total-num-update "$UPDATES" --clip-norm 1 --weight-decay 0.001 --max-tokens "$TOKENS" --no-epoch-checkpoints \
        --validate-interval 1000000 --validate-interval-updates "$VALID_EVERY" --save-interval-updates "$VALID_EVERY" \
        --keep-interval-updates 1 --patience "$PATIENCE" --seed "$3" $TRAIN_FLAGS |& tee -a "$OUT/$1/$2_$3.log"
}

[ -z "$TEXT" ] || [ -d "$TEXT" ] || lev-plugins data "$(basename "$TEXT")" "$TEXT"
once text text
for noise in ${NOISES//,/ }; do
    once $noise noise $noise
    once $noise-data lev-plugins prepare -s src -t tgt --train-prefix "$OUT/$noise/train" --valid-prefix \
        "$OUT/$noise/valid" --test-prefix "$OUT/$noise/test" --learn-sentencepiece "$VOCAB" --joined-dictionary \
        --dest "$OUT/$noise/data"
    [ "$SYMSPELL" = no ] || once $noise-symspell symspell $noise "$OUT/$noise"
    for system in ${SYSTEMS//,/ }; do for seed in ${SEEDS//,/ }; do
        once $noise-$system-$seed train $noise $system $seed
        once $noise-$system-$seed-test decode "$OUT/$noise" ${system}_$seed \
            --bpe sentencepiece --sentencepiece-model "$OUT/$noise/data/sentencepiece.model"
    done; done
    python "$(dirname "$0")/scores.py" "$OUT/$noise" --metrics $METRICS
done
