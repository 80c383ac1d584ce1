#!/usr/bin/env bash
# Correct words letter by letter, as in Table 2 of the PBD paper: a Transformer, PBD and a LevT on several folds.
#     bash examples/ocr_correction/run.sh
#     ONLY=pbd2,transformer2 FOLDS=0 bash examples/ocr_correction/run.sh
set -euo pipefail
source "$(dirname "$0")/../once.sh"

DATA=${DATA:-data/ocr-finnish}  # fold0, ...: train, dev and test .src and .tgt, a word per line, blanks between letters
OUT=${OUT:-runs/ocr} FOLDS=${FOLDS:-0,1,2}  # folder of all output; settings other than FOLDS and ONLY need another one
ONLY=${ONLY:-transformer2,pbd2,levt2,transformer4,pbd4}  # architectures with their number of blocks; PBD without a part
# (pbd2-no-future) or with another seed (pbd2-seed2); and ensembles of models before them (pbd2+transformer2)
WORDS=${WORDS:-0} BY_TYPE=${BY_TYPE:-}  # use the first N words of each file (0: all); yes: each training pair once
UPDATES=${UPDATES:-4500} TOKENS=${TOKENS:-1000} WIDTH=${WIDTH:-256} FFN=${FFN:-1024} DROPOUT=${DROPOUT:-0.2}
PBD_FLAGS=${PBD_FLAGS:-}  # more flags of PBD, such as --future-dropout 0.1, which hides a token of the copied future
LR=${LR:-0.001} WARMUP=${WARMUP:-500} SCHEDULE=${SCHEDULE:-polynomial_decay --total-num-update $UPDATES}
NOISE_SHARE=${NOISE_SHARE:-0}  # share of the training words with a new misreading in each epoch (not LevT)
TRAIN_FLAGS=${TRAIN_FLAGS:-}  # more flags for all trainings; the last of equal flags applies
AVERAGE=${AVERAGE:-5} BEAM=${BEAM:-5}  # the best N checkpoints on dev are averaged; beam of the test
SEED=${SEED:-1} THREADS=${THREADS:-1}  # random seed; threads of a training on the CPU
export OMP_NUM_THREADS=$THREADS
FAIRSEQ=(-s src -t tgt --user-dir "$(lev-plugins path)" $(command -v nvidia-smi >/dev/null || echo --cpu)
    --no-progress-bar --required-batch-size-multiple 1)  # by default, fairseq leaves out up to 7 words of a set
SIZES="--encoder-layers N --encoder-embed-dim $WIDTH --encoder-ffn-embed-dim $FFN --encoder-attention-heads 4
    --decoder-layers N --decoder-embed-dim $WIDTH --decoder-ffn-embed-dim $FFN --decoder-attention-heads 4"
prepare() {  # prepare FOLDER: a fold as text, with the misread words as drafts, and as data
    mkdir -p "$1/text"
    for split in train dev test; do
        text="$1/text/${split/dev/valid}" types=$([ $split != train ] || echo "$BY_TYPE")
        paste "$DATA/$(basename "$1")/$split".{src,tgt} |
            awk -v words="$WORDS" -v types="$types" '(!words || NR <= words) && !(types && seen[$0]++)' >"$text.pairs"
        cut -f 1 "$text.pairs" | tee "$text.draft" >"$text.src"; cut -f 2 "$text.pairs" >"$text.tgt"
    done
    for side in src tgt; do tr -d ' ' <"$1/text/train.$side" >"$1/text/words.$side"; done
    [ "$NOISE_SHARE" = 0 ] || lev-plugins confusions "$1"/text/words.{src,tgt} >"$1/confusions.tsv"
    lev-plugins prepare -s src -d draft -t tgt --train-prefix "$1/text/train" --valid-prefix "$1/text/valid" \
        --test-prefix "$1/text/test" --joined-dictionary --dest "$1/data"
}
train() {  # train FLAGS...: FOLDER/NAME, and the average of its best checkpoints
    fairseq-train "$FOLDER/data" --save-dir "$FOLDER/$NAME" "${FAIRSEQ[@]}" --log-format simple --log-interval 100 \
        --share-all-embeddings --dropout "$DROPOUT" --attention-dropout 0 --label-smoothing 0.1 --clip-norm 1 \
        --optimizer adam --adam-betas '(0.9,0.98)' --lr "$LR" --lr-scheduler $SCHEDULE --warmup-updates "$WARMUP" \
        --max-update "$UPDATES" --max-tokens "$TOKENS" --no-epoch-checkpoints --keep-best-checkpoints "$AVERAGE" \
        --best-checkpoint-metric exact_match --maximize-best-checkpoint-metric --seed "$SEED" "$@" $TRAIN_FLAGS |&
        tee -a "$FOLDER/$NAME.log"
    lev-plugins average "$FOLDER/$NAME"/checkpoint.best_*.pt --output "$FOLDER/$NAME/average.pt"
}
rewriter() {  # rewriter FLAGS...: a model that writes the correction from left to right
    train --task text_correction --criterion label_smoothed_cross_entropy --eval-exact-match \
        --eval-bleu-args '{"beam": 1, "max_len_a": 1, "max_len_b": 20}' $([ "$NOISE_SHARE" = 0 ] || echo --bpe chars \
        --noise-kind confusions --noise-confusions "$FOLDER/confusions.tsv" --noise-share "$NOISE_SHARE" \
        --noise-seed "$SEED") "$@"
}
decode() {  # decode FLAGS...: dev and test, by the best checkpoint (of each member of an ensemble) and by the average
    for split in valid test; do for which in checkpoint_best average; do
        fairseq-generate "$FOLDER/data" --path "$FOLDER/${NAME//+//$which.pt:$FOLDER/}/$which.pt" "${FAIRSEQ[@]}" \
            --gen-subset $split --max-tokens 4000 "$@" >"$FOLDER/$NAME.$split.$which"
    done; done
}

[ -d "$DATA" ] || lev-plugins data "$(basename "$DATA")" "$DATA"
for fold in ${FOLDS//,/ }; do
    FOLDER="$OUT/fold$fold"; once "fold$fold" prepare "$FOLDER"
    for NAME in ${ONLY//,/ }; do
        run="fold$fold-$NAME" kind=${NAME%%-*}; blocks=${kind: -1} part=${NAME#"$kind"}
        case $NAME in
            *+*) ;;
            transformer*) once "$run" rewriter --arch transformer ${SIZES//N/$blocks} ;;
            pbd*) once "$run" rewriter --arch pbd --layers $blocks --embed-dim "$WIDTH" --ffn-embed-dim "$FFN" \
                --attention-heads 4 ${part:+-${part/seed/seed }} $PBD_FLAGS ;;
            levt*) once "$run" train --task text_editing --draft-lang draft --arch levt ${SIZES//N/$blocks} \
                --criterion dual_policy --eval-metrics exact_match --eval-bleu-args '{"iter_decode_max_iter": 9}' ;;
            *) echo "ONLY has an unknown name: $NAME" >&2; exit 2 ;;
        esac
        case $NAME in
            levt*) once "$run-test" decode --task text_editing --draft-lang draft --iter-decode-max-iter 9 ;;
            *) once "$run-test" decode --task text_correction --beam "$BEAM" --max-len-a 1 --max-len-b 20 ;;
        esac
    done
done
python "$(dirname "$0")/scores.py" "$OUT" ${ONLY//,/ }
