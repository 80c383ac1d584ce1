#!/usr/bin/env bash
# Post-editing as in section 4.2 of the LevT paper: editors compared with a model that rewrites the draft.
#     bash examples/post_editing/run.sh
#     TEXT=data/mlqe-pe SOURCE=src TARGET=pe DRAFT=mt OUT=runs/ape bash examples/post_editing/run.sh
set -euo pipefail
source "$(dirname "$0")/../once.sh"

TEXT=${TEXT:-data/multi30k}  # folder of train, valid and test, each .SOURCE, .TARGET (and .DRAFT), a sentence per line
TEST=${TEST:-test} SOURCE=${SOURCE:-en} TARGET=${TARGET:-de}  # name of the test files; suffixes of the two languages
DRAFT=${DRAFT:-}  # suffix of the drafts; empty: a weak system makes drafts (drafts.sh)
TAGS=${TAGS:-}  # suffix of official labels that say which words of a draft are bad; empty: those not in the target
OUT=${OUT:-runs/post-editing}  # folder of all output; other settings need another one
SYNTHETIC=${SYNTHETIC:-}  # PREFIX of synthetic triples to train on as well; empty: none
REAL_TIMES=${REAL_TIMES:-10}  # with SYNTHETIC: how often the real triples are repeated in an epoch
PARALLEL=${PARALLEL:-}  # PREFIX.SOURCE and PREFIX.TARGET: parallel text to train the translator on; empty: the triples
TRANSLATION=${TRANSLATION:-}  # OUT of examples/translation (same sizes): its LevT is the translator; empty: train one
VOCAB=${VOCAB:-6000} TOKENS=${TOKENS:-2048}  # number of sentencepiece's pieces; tokens in a batch
LAYERS=${LAYERS:-4} WIDTH=${WIDTH:-128} FFN=${FFN:-256} HEADS=${HEADS:-4}  # sizes of every encoder and decoder
DROPOUT=${DROPOUT:-0.1}  # dropout of the LevTs
UPDATES=${UPDATES:-4000} LR=${LR:-0.002}  # length and peak learning rate of each training that starts from nothing
FINETUNE_UPDATES=${FINETUNE_UPDATES:-3000} FINETUNE_LR=${FINETUNE_LR:-0.001}  # the same of the fine-tuning
WARMUP=${WARMUP:-300}  # updates in which a learning rate rises to its peak, before it falls linearly to zero
VALID_EVERY=${VALID_EVERY:-500}  # updates between two scorings of the validation set (and checkpoints)
DISTIL=${DISTIL:-}  # yes: the LevTs learn from the autoregressive post-editor's output (underlined scores of Table 3)
BEAM=${BEAM:-4}  # beam of the autoregressive systems
MAX_ITER=${MAX_ITER:-9}  # iterations of a LevT after the first
GAMMAS=${GAMMAS:-0,1,2} KEEP_BIASES=${KEEP_BIASES--8,-6,-4,-2,-1,1,2,4}  # values that tests.sh tries on valid
SEED=${SEED:-1} THREADS=${THREADS:-2}  # random seed; threads on the CPU

export OMP_NUM_THREADS=$THREADS
DEVICE=$(command -v nvidia-smi >/dev/null || echo --cpu)
LANGUAGES=(-s "$SOURCE" -t "$TARGET")
FAIRSEQ=("${LANGUAGES[@]}" --user-dir "$(lev-plugins path)" $DEVICE --no-progress-bar --required-batch-size-multiple 1)
TRAINING=("${FAIRSEQ[@]}" --log-format simple --log-interval 50 --seed "$SEED" --optimizer adam
    --adam-betas '(0.9,0.98)' --clip-norm 1 --label-smoothing 0.1 --max-tokens "$TOKENS")
SIZES=$(for side in encoder decoder; do echo "--$side-layers $LAYERS --$side-embed-dim $WIDTH
    --$side-ffn-embed-dim $FFN --$side-attention-heads $HEADS"; done)
PRENORM="--encoder-normalize-before --decoder-normalize-before"
LEVT="--arch levt --criterion dual_policy --dropout $DROPOUT --rollin-alpha 0.5 --rollin-beta 0.5"
PIECES="--learn-sentencepiece $VOCAB" TRANSLATOR="$OUT/translator/checkpoint_best.pt" FINETUNED_NORM=$PRENORM
if [ "$TRANSLATION" ]; then
    PIECES="--sentencepiece-model $TRANSLATION/data/sentencepiece.model --srcdict $TRANSLATION/data/dict.$SOURCE.txt"
    TRANSLATOR="$TRANSLATION/levt/checkpoint_best.pt" FINETUNED_NORM=  # that LevT has no $PRENORM
fi
train() {  # train NAME DATA UPDATES LR FLAGS...
    fairseq-train "$OUT/$2" --save-dir "$OUT/$1" "${TRAINING[@]}" --task text_editing --share-all-embeddings $SIZES \
        "${@:5}" --max-update "$3" --total-num-update "$3" --lr "$4" --lr-scheduler polynomial_decay \
        --warmup-updates "$WARMUP" --no-epoch-checkpoints --validate-interval 1000000 \
        --validate-interval-updates "$VALID_EVERY" --save-interval-updates "$VALID_EVERY" --keep-interval-updates 1 --eval-bleu --eval-tokenized-bleu \
        --eval-bleu-remove-bpe sentencepiece --best-checkpoint-metric bleu --maximize-best-checkpoint-metric |&
        tee -a "$OUT/$1.log"
}

[ -d "$TEXT" ] || lev-plugins data "$(basename "$TEXT")" "$TEXT"
[ "$DRAFT" ] || source "$(dirname "$0")/drafts.sh"  # makes drafts, and points TEXT, TEST, DRAFT and PIECES at them
once triples lev-plugins prepare "${LANGUAGES[@]}" -d "$DRAFT" --train-prefix "$TEXT/train" --valid-prefix \
    "$TEXT/valid" --test-prefix "$TEXT/$TEST" ${SYNTHETIC:+--extra-train-prefix "$SYNTHETIC"} $PIECES \
    --joined-dictionary --dest "$OUT/triples"
data=triples UPSAMPLE=${SYNTHETIC:+--upsample-primary $REAL_TIMES}
once autoregressive train autoregressive triples "$UPDATES" "$LR" $PRENORM --draft-lang "$DRAFT" --dropout 0.3 \
    --arch post_edit_transformer --criterion label_smoothed_cross_entropy --eval-bleu-args '{"beam": 1}' $UPSAMPLE
if [ "$DISTIL" ]; then
    data=distilled
    once distil lev-plugins distill "$OUT/triples" --path "$OUT/autoregressive/checkpoint_best.pt" --dest \
        "$OUT/distilled" --beam "$BEAM" --max-len-a 1.2 --max-len-b 10 --max-tokens "$TOKENS" $DEVICE
fi
once scratch train scratch $data "$UPDATES" "$LR" $PRENORM --draft-lang "$DRAFT" $LEVT $UPSAMPLE
if [ -z "$TRANSLATION" ]; then
    pairs=$data
    if [ "$PARALLEL" ]; then
        once pairs lev-plugins prepare "${LANGUAGES[@]}" --train-prefix "$PARALLEL" --valid-prefix "$TEXT/valid" \
            --joined-dictionary --sentencepiece-model "$OUT/triples/sentencepiece.model" --srcdict \
            "$OUT/triples/dict.$SOURCE.txt" --dest "$OUT/pairs"
        pairs=pairs
    fi
    once translator train translator $pairs "$UPDATES" "$LR" $PRENORM $LEVT $([ $pairs = pairs ] || echo $UPSAMPLE)
fi
once finetuned train finetuned $data "$FINETUNE_UPDATES" "$FINETUNE_LR" $FINETUNED_NORM --draft-lang "$DRAFT" \
    $LEVT $UPSAMPLE --finetune-from-model "$TRANSLATOR"
source "$(dirname "$0")/tests.sh"
