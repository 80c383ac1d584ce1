# Sourced by the scripts of this folder: settings, which are variables of the environment, and functions.
source "$(dirname "${BASH_SOURCE[0]}")/../once.sh"

# TEXT: folder of train, valid and test, each .SOURCE and .TARGET, one sentence per line; OUT: folder of all output
TEXT=${TEXT:-data/multi30k} SOURCE=${SOURCE:-en} TARGET=${TARGET:-de} OUT=${OUT:-runs/multi30k}
VOCAB=${VOCAB:-6000} KIND=${KIND:-unigram} COVERAGE=${COVERAGE:-1.0}  # sentencepiece: pieces, algorithm, characters
JOINED=${JOINED---joined-dictionary} SHARE=${SHARE:---share-all-embeddings}  # one dictionary for both languages
SIZES=${SIZES:-4 128 256 4}  # layers, width, feed-forward width and attention heads of every encoder and decoder
# TOKENS in a batch, in the teacher's training and in distillation; BEAM of the distillation, and of the teacher's test
TOKENS=${TOKENS:-4096} BEAM=${BEAM:-5} TEACHER_UPDATES=${TEACHER_UPDATES:-3200}
TEACHER_TRAINING=${TEACHER_TRAINING:---lr 0.005 --lr-scheduler inverse_sqrt --warmup-init-lr 1e-7
    --warmup-updates 2000 --dropout 0.3}
AVERAGE=${AVERAGE:-$OUT/teacher --last 5}  # the checkpoints that are averaged: of the last five epochs
LEVT_START=${LEVT_START-$OUT/start.pt}  # file to write, with the teacher's weights for LevTs; empty: random ones
# VALID_EVERY: updates of a LevT between two scorings of the validation set (and checkpoints)
LEVT_UPDATES=${LEVT_UPDATES:-12000} VALID_EVERY=${VALID_EVERY:-500}
LEVT_TRAINING=${LEVT_TRAINING:---lr 0.002 --lr-scheduler polynomial_decay --warmup-updates 300
    --total-num-update $LEVT_UPDATES --clip-norm 1 --dropout 0.1 --max-tokens 2048}
MAX_ITER=${MAX_ITER:-10} GAMMA=${GAMMA:-2}  # LevT: iterations after the first; subtracted from log p(insert nothing)
# BLEU_TOKENIZE: sacrebleu's --tokenize, 13a for text that is not tokenised; METRIC: of lev-plugins score, or rouge
BLEU_TOKENIZE=${BLEU_TOKENIZE:-none} METRIC=${METRIC:-bleu --tokenize ${BLEU_TOKENIZE:-none}}

FAIRSEQ+=(-s "$SOURCE" -t "$TARGET" --required-batch-size-multiple 1)  # or fairseq leaves out up to 7 sentences
LIMITS="--max-source-positions 1025 --max-target-positions 1025"  # a LevT reads <s>, too
REFINER="--max-update $LEVT_UPDATES $LEVT_TRAINING ${LEVT_START:+--finetune-from-model $LEVT_START}
    $(checkpoint_every "$VALID_EVERY")"

train() {  # train NAME DATA FLAGS...: into OUT/NAME, where a training continues after a stop
    fairseq-train "$2" --save-dir "$OUT/$1" "${FAIRSEQ[@]}" --log-format simple --log-interval 50 --seed "$SEED" \
        $(sizes $SIZES) $SHARE --optimizer adam --adam-betas '(0.9,0.98)' --label-smoothing 0.1 "${@:3}" $TRAIN_FLAGS |&
        tee -a "$OUT/$1.log"
}
levt() {  # levt NAME DATA FLAGS...: a LevT, of which the checkpoint with the best score is kept, by default of BLEU
    train "$1" "$2" --task text_editing --arch levt --criterion dual_policy $LIMITS --eval-bleu --eval-bleu-args \
        "{\"iter_decode_max_iter\": $MAX_ITER, \"iter_decode_eos_penalty\": $GAMMA}" --eval-bleu-tokenize \
        "$BLEU_TOKENIZE" --eval-bleu-remove-bpe sentencepiece --eval-bleu-detok space --best-checkpoint-metric bleu \
        --maximize-best-checkpoint-metric $REFINER "${@:3}"  # of equal flags, the last applies
}
decode_by() {  # decode_by COMMAND NAME CHECKPOINT FLAGS...: the test set into OUT/NAME.out, by sentences, in one thread
    OMP_NUM_THREADS=1 "$1" "$OUT/data" --path "$3" "${FAIRSEQ[@]}" --gen-subset test --batch-size 1 \
        --remove-bpe sentencepiece --scoring sacrebleu --sacrebleu-tokenizer "$BLEU_TOKENIZE" "${@:4}" \
        >"$OUT/$2.out" 2>&1 || { tail -n 5 "$OUT/$2.out" >&2; exit 1; }
}
decode() { decode_by fairseq-generate "$@"; }
report() {  # scores, iterations and times of all outputs
    for out in "$OUT"/*.out; do echo "$out"; lev-plugins score $METRIC "$out" "$TEXT/test.$TARGET" --generated; done
    python "$HERE/iterations.py" "$OUT"/*.out
}
TEACH="--task translation --max-len-a 1.2 --max-len-b 10"
ITERATE="$LIMITS --beam 1 --print-step --iter-decode-max-iter $MAX_ITER"
EDIT="--task text_editing $ITERATE --iter-decode-eos-penalty $GAMMA"
