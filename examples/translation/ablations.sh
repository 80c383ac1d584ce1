#!/usr/bin/env bash
# More models beside the LevT of run.sh, as in Tables 2a and 2b and Figure 4b of the paper, and what search brings.
#
#     bash examples/translation/ablations.sh
#     ABLATIONS=oracle,plh-tok LEVT_UPDATES=1500 OUT=runs/multi30k-table2 bash examples/translation/ablations.sh
#
# It begins with run.sh, and has the settings of settings.sh as well.
source "$(dirname "$0")/settings.sh"
ABLATIONS=${ABLATIONS:-oracle,plh-tok,tok-del,none,sample,dae}  # names of the cases below
FAST_EXITS=${FAST_EXITS:-3,3,3}  # fast: the decoder blocks that the deletion, placeholder and token policies read
SEARCH=${SEARCH:-5} SIGMA=${SIGMA:-0.1}  # search: candidates of a sentence; standard deviation of the noise

noisy_generate() { python "$HERE/noisy.py" "$SEARCH" "$SIGMA" "$@"; }  # as fairseq-generate, with noise
another() {  # another NAME DATA FLAGS...: a LevT and its output for the test set
    once "levt_$1" levt "levt_$1" "${@:2}"
    once "test_levt_$1" decode "levt_$1" "$OUT/levt_$1/checkpoint_best.pt" $EDIT
}
peer() {  # peer NAME FLAGS...: one of fairseq's refinement models, as in its examples/nonautoregressive_translation
    local start="$OUT/peer_start.pt"  # with 256 more positions in the output: the lengths that they tell apart
    once peer_start python "$HERE/peer_start.py" "$OUT/teacher.pt" "$start" --positions 1025 1281
    once "$1" train "$1" "$OUT/distilled" --task translation_lev --criterion nat_loss $REFINER \
        ${LEVT_START:+--finetune-from-model "$start"} --max-source-positions 1025 --max-target-positions 1281 \
        --weight-decay 0.01 --encoder-learned-pos --decoder-learned-pos --apply-bert-init \
        --fixed-validation-seed 7 "${@:2}"
    once "test_$1" decode "$1" "$OUT/$1/checkpoint_best.pt" --task translation_lev $ITERATE
}

known='oracle|it|maskt|search|(oracle-)?(plh-tok|tok-del|none|sample|dae|fast|[0-9]+-[0-9]+)'  # refused now, not later:
for name in ${ABLATIONS//,/ }; do [[ $name =~ ^($known)$ ]] || refuse "ABLATIONS has an unknown name: $name"; done
bash "$HERE/run.sh"
for name in ${ABLATIONS//,/ }; do
    case $name in oracle*) data="$OUT/data" ;; *) data="$OUT/distilled" ;; esac  # oracle: the original targets
    kind=${name#oracle-} start="$OUT/start_${name#oracle-}.pt"
    case $kind in
        oracle) another oracle "$data" ;;
        plh-tok | tok-del | none)  # the policies that share decoder blocks
            once start_all lev-plugins import-levt "$OUT/teacher.pt" "$OUT/start_all.pt"
            once "start_$kind" python "$HERE/start.py" --share-weights "$kind" "$OUT/start_all.pt" "$start"
            another "$name" "$data" --share-weights "$kind" ${LEVT_START:+--finetune-from-model "$start"} ;;
        sample | dae) another "$name" "$data" --deletion-rollin "$kind" ;;  # the words that deletions are learned from
        fast) same_settings FAST_EXITS  # a shallow decoder
            IFS=, read -r deletion placeholder token <<<"$FAST_EXITS"
            once start_fast lev-plugins import-levt --early-exit "$FAST_EXITS" "$OUT/teacher.pt" "$start"
            another "$name" "$data" --arch levt_fast --deletion-layers "$deletion" --placeholder-layers \
                "$placeholder" --decoder-layers "$token" ${LEVT_START:+--finetune-from-model "$start"} ;;
        [0-9]*-[0-9]*)  # early exits, such as 2-2: the decoder blocks that the deletion and placeholder policies read
            another "$name" "$data" --deletion-layers "${kind%-*}" --placeholder-layers "${kind#*-}" ;;
        it)  # Lee et al., 2018
            peer it --arch iterative_nonautoregressive_transformer --noise full_mask --pred-length-offset \
                --length-loss-factor 0.1 --train-step 4 --dae-ratio 0.5 --stochastic-approx ;;
        maskt)  # Ghazvininejad et al., 2019
            peer maskt --arch cmlm_transformer --noise random_mask ;;
        search) same_settings SEARCH SIGMA  # the best of several outputs: sampled, chosen by the teacher, with noise
            sampled="$EDIT --iter-decode-with-beam $SEARCH" levt="$OUT/levt/checkpoint_best.pt"
            once sampled decode sampled "$levt" $sampled
            once reranked decode reranked "$levt:$OUT/teacher.pt" $sampled --iter-decode-with-external-reranker
            once noisy decode_by noisy_generate noisy "$levt" $EDIT ;;
    esac
done
report
