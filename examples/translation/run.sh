#!/usr/bin/env bash
# From parallel text to a Levenshtein Transformer, by way of an autoregressive teacher (section 4.1 of the LevT paper).
#
#     bash examples/translation/run.sh
#     TEXT=DIR SOURCE=fr TARGET=en OUT=runs/fr-en bash examples/translation/run.sh
set -euo pipefail
source "$(dirname "$0")/../once.sh"

TEXT=${TEXT:-data/multi30k}  # folder of train, valid and test, each .SOURCE and .TARGET, one sentence per line
TEST=${TEST:-test} SOURCE=${SOURCE:-en} TARGET=${TARGET:-de}  # name of the test files; suffixes
OUT=${OUT:-runs/multi30k}  # folder of all output; other settings need another one
VOCAB=${VOCAB:-6000} KIND=${KIND:-unigram} COVERAGE=${COVERAGE:-1.0}  # sentencepiece: pieces, algorithm, characters
JOINED=${JOINED---joined-dictionary} SHARE=${SHARE:---share-all-embeddings}  # one dictionary for both languages
LAYERS=${LAYERS:-4} WIDTH=${WIDTH:-128} FFN=${FFN:-256} HEADS=${HEADS:-4}  # of every encoder and decoder
TOKENS=${TOKENS:-4096}  # tokens in a batch, in the teacher's training and in distillation
TEACHER_UPDATES=${TEACHER_UPDATES:-3200}
TEACHER_TRAINING=${TEACHER_TRAINING:---lr 0.005 --lr-scheduler inverse_sqrt --warmup-init-lr 1e-7
    --warmup-updates 2000 --dropout 0.3}
AVERAGE=${AVERAGE:-$OUT/teacher --last 5}  # the checkpoints that are averaged: of the last five epochs
BEAM=${BEAM:-5}  # beam of the distillation, and of the teacher's second test
LEVT_START=${LEVT_START-$OUT/start.pt}  # weights that LevTs start from, the teacher's; empty: random ones
LEVT_UPDATES=${LEVT_UPDATES:-12000}
LEVT_TRAINING=${LEVT_TRAINING:---lr 0.002 --lr-scheduler polynomial_decay --warmup-updates 300
    --total-num-update $LEVT_UPDATES --clip-norm 1 --dropout 0.1 --max-tokens 2048}
VALID_EVERY=${VALID_EVERY:-500}  # LevT: updates between two scorings of the validation set (and checkpoints)
MAX_ITER=${MAX_ITER:-10} GAMMA=${GAMMA:-2}  # LevT: iterations after the first; subtracted from log p(insert nothing)
BLEU_TOKENIZE=${BLEU_TOKENIZE:-none}  # sacrebleu's --tokenize: 13a for text that is not tokenised
METRIC=${METRIC:-bleu --tokenize $BLEU_TOKENIZE}  # of lev-plugins score; or rouge
SEED=${SEED:-1} THREADS=${THREADS:-2}  # on the CPU: threads

export OMP_NUM_THREADS=$THREADS
DEVICE=$(command -v nvidia-smi >/dev/null || echo --cpu)
FAIRSEQ=(-s "$SOURCE" -t "$TARGET" --user-dir "$(lev-plugins path)" $DEVICE --no-progress-bar
    --required-batch-size-multiple 1)  # by default, fairseq leaves out up to 7 sentences of a set (its issue 5036)
SIZES=$(for side in encoder decoder; do echo "--$side-layers $LAYERS --$side-embed-dim $WIDTH
    --$side-ffn-embed-dim $FFN --$side-attention-heads $HEADS"; done)
LIMITS="--max-source-positions 1025 --max-target-positions 1025"  # a LevT reads <s>, too
REFINER="--max-update $LEVT_UPDATES $LEVT_TRAINING ${LEVT_START:+--finetune-from-model $LEVT_START}
    --no-epoch-checkpoints --validate-interval 1000000 --validate-interval-updates $VALID_EVERY
    --save-interval-updates $VALID_EVERY --keep-interval-updates 1"

train() {  # train NAME DATA FLAGS...: into OUT/NAME, where a training continues after a stop
    fairseq-train "$2" --save-dir "$OUT/$1" "${FAIRSEQ[@]}" --log-format simple --log-interval 50 --seed "$SEED" \
        $SIZES $SHARE --optimizer adam --adam-betas '(0.9,0.98)' --label-smoothing 0.1 "${@:3}" |& tee -a "$OUT/$1.log"
}
levt() {  # levt NAME DATA FLAGS...: trains a LevT, of which the checkpoint with the best validation BLEU is kept
    train "$1" "$2" --task text_editing --arch levt --criterion dual_policy $LIMITS $REFINER --eval-bleu \
        --eval-bleu-args "{\"iter_decode_max_iter\": $MAX_ITER, \"iter_decode_eos_penalty\": $GAMMA}" \
        $([ "$BLEU_TOKENIZE" != none ] || echo --eval-tokenized-bleu) --eval-bleu-remove-bpe sentencepiece \
        --eval-bleu-detok space --best-checkpoint-metric bleu --maximize-best-checkpoint-metric "${@:3}"
}
decode() {  # decode NAME CHECKPOINT FLAGS...: the test set into OUT/NAME.out, sentence by sentence in one thread
    OMP_NUM_THREADS=1 fairseq-generate "$OUT/data" --path "$2" "${FAIRSEQ[@]}" --gen-subset test --batch-size 1 \
        --remove-bpe sentencepiece --scoring sacrebleu --sacrebleu-tokenizer "$BLEU_TOKENIZE" "${@:3}" \
        >"$OUT/$1.out" 2>&1 || { tail -n 5 "$OUT/$1.out" >&2; exit 1; }
}
report() {  # scores, iterations and times of all outputs
    for out in "$OUT"/*.out; do echo "$out"; lev-plugins score $METRIC "$out" "$TEXT/$TEST.$TARGET" --generated; done
    python "$(dirname "$0")/iterations.py" "$OUT"/*.out
}
TEACH="--task translation --max-len-a 1.2 --max-len-b 10"
ITERATE="$LIMITS --beam 1 --print-step --iter-decode-max-iter $MAX_ITER"
EDIT="--task text_editing $ITERATE --iter-decode-eos-penalty $GAMMA"

[ -d "$TEXT" ] || lev-plugins data "$(basename "$TEXT")" "$TEXT"
once data lev-plugins prepare -s "$SOURCE" -t "$TARGET" --train-prefix "$TEXT/train" --valid-prefix "$TEXT/valid" \
    --test-prefix "$TEXT/$TEST" --learn-sentencepiece "$VOCAB" --sentencepiece-type "$KIND" \
    --sentencepiece-coverage "$COVERAGE" $JOINED --workers "$THREADS" --dest "$OUT/data"
once teacher train teacher "$OUT/data" --task translation --arch transformer --criterion label_smoothed_cross_entropy \
    --max-tokens "$TOKENS" --max-update "$TEACHER_UPDATES" --keep-last-epochs 5 $TEACHER_TRAINING
once average lev-plugins average $AVERAGE --output "$OUT/teacher.pt"
once distil lev-plugins distill "$OUT/data" --path "$OUT/teacher.pt" --dest "$OUT/distilled" --beam "$BEAM" \
    --max-len-a 1.2 --max-len-b 10 --max-tokens "$TOKENS" --shard-size 2000 $DEVICE
[ -z "$LEVT_START" ] || once start lev-plugins import-levt "$OUT/teacher.pt" "$LEVT_START"
once levt levt levt "$OUT/distilled"
once greedy decode greedy "$OUT/teacher.pt" $TEACH --beam 1
once beam decode beam "$OUT/teacher.pt" $TEACH --beam "$BEAM"
once test_levt decode levt "$OUT/levt/checkpoint_best.pt" $EDIT
once test_history decode levt-history "$OUT/levt/checkpoint_best.pt" $EDIT --retain-iter-history  # for its iterations
report
