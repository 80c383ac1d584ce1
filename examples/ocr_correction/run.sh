#!/usr/bin/env bash
# Correct words letter by letter, as in Table 2 of the PBD paper: a Transformer, PBD and a LevT on several folds.
#     bash examples/ocr_correction/run.sh
#     ONLY=pbd2,transformer2 FOLDS=0 bash examples/ocr_correction/run.sh
THREADS=${THREADS:-1}
source "$(dirname "$0")/../once.sh"

DATA=${DATA:-data/ocr-finnish}  # fold0, ...: train, dev and test .src and .tgt, a word per line, blanks between letters
OUT=${OUT:-runs/ocr} FOLDS=${FOLDS:-0,1,2}  # folder of all output; settings other than FOLDS and ONLY need another one
ONLY=${ONLY:-transformer2,pbd2,levt2,transformer4,pbd4}  # architectures with their number of blocks; PBD without a part
# (pbd2-no-future) or with another seed (pbd2-seed2); and ensembles of models before them (pbd2+transformer2)
# BY_TYPE=yes: use each training pair once; AVERAGE: how many of the best checkpoints on dev are averaged
BY_TYPE=${BY_TYPE:-} AVERAGE=${AVERAGE:-5} WIDTH=${WIDTH:-256} FFN=${FFN:-1024}
UPDATES=${UPDATES:-4500} TOKENS=${TOKENS:-1000} DROPOUT=${DROPOUT:-0.2} LR=${LR:-0.001}
SCHEDULE=${SCHEDULE:-polynomial_decay --total-num-update $UPDATES}
PBD_FLAGS=${PBD_FLAGS:-}  # more flags of PBD, such as --future-dropout 0.1, which hides a token of the copied future
NOISE_SHARE=${NOISE_SHARE:-0}  # share of the training words with a new misreading in each epoch (not LevT)
same_settings DATA BY_TYPE AVERAGE WIDTH FFN UPDATES TOKENS DROPOUT LR SCHEDULE PBD_FLAGS NOISE_SHARE SEED TRAIN_FLAGS
FAIRSEQ+=(-s src -t tgt --required-batch-size-multiple 1)  # by default, fairseq leaves out up to 7 words of a set
prepare() {  # prepare FOLDER: a fold as text, with the misread words as drafts, and as data
    mkdir -p "$1/text"
    for split in train dev test; do
        text="$1/text/${split/dev/valid}" unique=$([ $split != train ] || echo "$BY_TYPE")
        paste "$DATA/$(basename "$1")/$split".{src,tgt} | awk -v unique=$unique '!(unique && seen[$0]++)' >"$text.pairs"
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
        --optimizer adam --adam-betas '(0.9,0.98)' --lr "$LR" --lr-scheduler $SCHEDULE --warmup-updates 500 \
        --max-update "$UPDATES" --max-tokens "$TOKENS" --no-epoch-checkpoints --keep-best-checkpoints "$AVERAGE" \
        --best-checkpoint-metric exact_match --maximize-best-checkpoint-metric --seed "$SEED" "$@" $TRAIN_FLAGS |&
        tee -a "$FOLDER/$NAME.log"
    lev-plugins average "$FOLDER/$NAME"/checkpoint.best_*.pt --output "$FOLDER/$NAME/average.pt"
}
rewriter() {  # rewriter FLAGS...: a model that writes the correction from left to right
    local noise=()
    [ "$NOISE_SHARE" = 0 ] || noise=(--bpe chars --noise-kind confusions --noise-confusions "$FOLDER/confusions.tsv"
        --noise-share "$NOISE_SHARE" --noise-seed "$SEED")
    train --task text_correction --criterion label_smoothed_cross_entropy --eval-exact-match \
        --eval-bleu-args '{"beam": 1, "max_len_a": 1, "max_len_b": 20}' "${noise[@]}" "$@"
}
decode() {  # decode FLAGS...: dev and test, by the best checkpoint (of each member of an ensemble) and by the average
    for checkpoint in checkpoint_best average; do
        paths=$(for member in ${NAME//+/ }; do echo "$FOLDER/$member/$checkpoint.pt"; done | paste -sd :)
        for split in valid test; do
            fairseq-generate "$FOLDER/data" --path "$paths" "${FAIRSEQ[@]}" --gen-subset $split --max-tokens 4000 "$@" \
                >"$FOLDER/$NAME.$split.$checkpoint"
        done
    done
}

[ -d "$DATA" ] || python "$HERE/../data.py" "$(basename "$DATA")" "$DATA"
for fold in ${FOLDS//,/ }; do
    FOLDER="$OUT/fold$fold"; once "fold$fold" prepare "$FOLDER"
    for NAME in ${ONLY//,/ }; do
        run="fold$fold-$NAME" part=; blocks=$(echo "$NAME" | tr -cd '0-9' | cut -c 1)  # pbd2-seed3 has 2
        case $NAME in *-seed*) part="--seed ${NAME#*-seed}" ;; *-no-*) part="--no-${NAME#*-no-}" ;; esac
        case $NAME in
            *+*) ;;
            transformer*) once "$run" rewriter --arch transformer $(sizes $blocks "$WIDTH" "$FFN" 4) ;;
            pbd*) once "$run" rewriter --arch pbd --layers $blocks --embed-dim "$WIDTH" --ffn-embed-dim "$FFN" \
                --attention-heads 4 $part $PBD_FLAGS ;;
            levt*) once "$run" train --task text_editing --draft-lang draft --arch levt $(sizes $blocks "$WIDTH" "$FFN" 4) \
                --criterion dual_policy --eval-metrics exact_match --eval-bleu-args '{"iter_decode_max_iter": 9}' ;;
            *) echo "ONLY has an unknown name: $NAME" >&2; exit 2 ;;
        esac
        case $NAME in
            levt*) once "$run-test" decode --task text_editing --draft-lang draft --iter-decode-max-iter 9 ;;
            *) once "$run-test" decode --task text_correction --beam 5 --max-len-a 1 --max-len-b 20 ;;
        esac
    done
done
python "$HERE/scores.py" "$OUT" ${ONLY//,/ }
