#!/usr/bin/env bash
# More models beside the LevT of run.sh, as in Tables 2 and 2a and Figure 4b of the paper, and what search brings.
#
#     bash examples/translation/ablations.sh
#     ABLATIONS=oracle,plh-tok LEVT_UPDATES=1500 OUT=runs/multi30k-table2 bash examples/translation/ablations.sh
#
# It begins with run.sh, whose settings are also its own.
source "$(dirname "$0")/run.sh"
ABLATIONS=${ABLATIONS:-oracle,plh-tok,tok-del,none,sample,dae}  # names of the cases below
FAST_EXITS=${FAST_EXITS:-3,3,3}  # fast: the decoder blocks that the deletion, placeholder and token policies read
SEARCH=${SEARCH:-5} SIGMA=${SIGMA:-0.1}  # search: candidates of a sentence; standard deviation of the noise

another() {  # another NAME DATA FLAGS...: a LevT and its output for the test set
    once "levt_$1" levt "levt_$1" "${@:2}"
    once "test_levt_$1" decode "levt_$1" "$OUT/levt_$1/checkpoint_best.pt" $EDIT
}
peer() {  # peer NAME FLAGS...: one of fairseq's refinement models, as in its examples/nonautoregressive_translation
    local start="$OUT/peer_start.pt"  # with 256 more positions in the output: the lengths that they tell apart
    once peer_start python "$(dirname "$0")/peer_start.py" "$OUT/teacher.pt" "$start" --positions 1025 1281
    once "$1" train "$1" "$OUT/distilled" --task translation_lev --criterion nat_loss $REFINER \
        ${LEVT_START:+--finetune-from-model "$start"} --max-source-positions 1025 --max-target-positions 1281 \
        --weight-decay 0.01 --encoder-learned-pos --decoder-learned-pos --apply-bert-init \
        --fixed-validation-seed 7 "${@:2}"
    once "test_$1" decode "$1" "$OUT/$1/checkpoint_best.pt" --task translation_lev $ITERATE
}

for name in ${ABLATIONS//,/ }; do
    start="$OUT/start_${name#oracle-}.pt"
    case $name in
        oracle)  # the original targets
            another oracle "$OUT/data" ;;
        plh-tok | tok-del | none)  # the policies that share decoder blocks
            once "start_$name" lev-plugins import-levt --share-weights "$name" "$OUT/teacher.pt" "$start"
            another "$name" "$OUT/distilled" --share-weights "$name" ${LEVT_START:+--finetune-from-model "$start"} ;;
        oracle-plh-tok)
            once start_plh-tok lev-plugins import-levt --share-weights plh-tok "$OUT/teacher.pt" "$start"
            another "$name" "$OUT/data" --share-weights plh-tok ${LEVT_START:+--finetune-from-model "$start"} ;;
        sample | dae)  # the words that deletions are learned from
            another "$name" "$OUT/distilled" --deletion-rollin "$name" ;;
        oracle-sample | oracle-dae)  # ... of the original targets
            another "$name" "$OUT/data" --deletion-rollin "${name#oracle-}" ;;
        fast)  # a shallow decoder
            IFS=, read -r deletion placeholder token <<<"$FAST_EXITS"
            once start_fast lev-plugins import-levt --early-exit "$FAST_EXITS" "$OUT/teacher.pt" "$start"
            another fast "$OUT/distilled" --arch levt_fast --deletion-layers "$deletion" --placeholder-layers \
                "$placeholder" --decoder-layers "$token" ${LEVT_START:+--finetune-from-model "$start"} ;;
        [0-9]*-[0-9]*)  # early exits, such as 2-2: the decoder blocks that the deletion and placeholder policies read
            another "$name" "$OUT/distilled" --deletion-layers "${name%-*}" --placeholder-layers "${name#*-}" ;;
        it)  # Lee et al., 2018
            peer it --arch iterative_nonautoregressive_transformer --noise full_mask --pred-length-offset \
                --length-loss-factor 0.1 --train-step 4 --dae-ratio 0.5 --stochastic-approx ;;
        maskt)  # Ghazvininejad et al., 2019
            peer maskt --arch cmlm_transformer --noise random_mask ;;
        search)  # the best of several outputs of the first LevT: sampled, chosen by the teacher, decoded with noise
            sampled="$EDIT --iter-decode-with-beam $SEARCH" levt="$OUT/levt/checkpoint_best.pt"
            once sampled decode sampled "$levt" $sampled
            once reranked decode reranked "$levt:$OUT/teacher.pt" $sampled --iter-decode-with-external-reranker
            fairseq-generate() { python "$(dirname "$0")/noisy.py" "$SEARCH" "$SIGMA" "$@"; }
            once noisy decode noisy "$levt" $EDIT
            unset -f fairseq-generate ;;
        *) echo "ABLATIONS has an unknown name: $name" >&2; exit 2 ;;
    esac
done
report
