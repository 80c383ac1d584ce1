#!/usr/bin/env bash
# Edit translations that professionals have already made, as a second professional would: see RESULTS.md.
#     bash examples/post_editing/aced.sh
set -euo pipefail
HERE=$(dirname "$0")
source "$HERE/../once.sh"

DATA=${DATA:-data/aced}  # folder with a folder per client: {train,dev}.{src,pert,tgt}
OUT=${OUT:-runs/aced}  # folder of all output; other settings need another one
CLIENTS=${CLIENTS:-emerson digitalocean asics}  # one editor for all of them
WIDTH=${WIDTH:-192} FFN=${FFN:-576} HEADS=${HEADS:-4} LAYERS=${LAYERS:-2} DROPOUT=${DROPOUT:-0.2}
UPDATES=${UPDATES:-375} SCHEDULE=${SCHEDULE:-1500}  # more updates overfit; after SCHEDULE, the learning rate would be zero
LR=${LR:-0.002} TOKENS=${TOKENS:-2500}  # peak learning rate; tokens in a batch
THRESHOLDS=${THRESHOLDS:-0 0.5 0.7 0.8 0.9 0.95 0.98}  # of confidence, tried on triples that are held out of train
# see RESULTS.md; rules and context learn from all triples of train, also those that the levt has as valid;
# every: all edits of the levt; levt: those that reach the threshold that is best on valid
SYSTEMS="nothing rules rules-online context context-online every levt"
TRAIN_FLAGS=${TRAIN_FLAGS:-}  # more flags of fairseq-train, such as --cpu-bf16
SEED=${SEED:-1} THREADS=${THREADS:-2}

export OMP_NUM_THREADS=$THREADS
DEVICE=$(command -v nvidia-smi >/dev/null || echo --cpu)
triples() { python "$HERE/triples.py" "$@"; }
texts() {  # each client's triples, and those of all
    local client part
    for client in $CLIENTS; do triples split "$DATA/$client" "$OUT/$client"; done
    mkdir -p "$OUT/all"
    for part in {train,valid}.{src,draft,clean}; do
        for client in $CLIENTS; do cat "$OUT/$client/$part"; done >"$OUT/all/$part"
    done
}
edited() {  # edited CLIENT SPLIT SYSTEM [THRESHOLD]: prints the drafts after the edits of a system that are this sure
    local folder="$OUT/$1"
    case $3:${4-} in
        nothing:* | levt:none) cat "$folder/$2.draft" ;;
        levt:*) lev-plugins edit "$OUT/editor" --drafts "$folder/$2.draft" --min-confidence "$4" --whole-lines \
            <"$folder/$2.src" ;;
        *) python "$HERE/recurring.py" "$DATA/$1"/train.{src,pert,tgt} --source "$folder/$2.src" <"$folder/$2.draft" \
            $([[ $3 != rules* ]] || echo --rules) $([[ $3 != *-online ]] || echo --corrected "$folder/$2.clean") ;;
    esac
}
# right FILE <TEXT: how many lines of the text have the same words and marks as those of the file
right() { triples words | paste - <(triples words <"$1") | awk -F '\t' '$1 == $2 { n++ } END { print n + 0 }'; }
dial() {  # dial CLIENT: the threshold of the levt with the most right sentences of valid; none, if none is better than no edit
    local best="$OUT/$1/dial" most threshold count; echo none >"$best"
    most=$(right "$OUT/$1/valid.clean" <"$OUT/$1/valid.draft")
    for threshold in $THRESHOLDS; do
        count=$(edited "$1" valid levt "$threshold" | right "$OUT/$1/valid.clean")
        if ((count > most)); then most=$count; echo "$threshold" >"$best"; fi
    done
}
systems() {  # systems CLIENT: the texts that are scored, as words and marks
    local folder="$OUT/$1" name
    for name in nothing rules{,-online} context{,-online}; do edited "$1" test $name >"$folder/$name.out"; done
    edited "$1" test levt 0 >"$folder/every.out"
    edited "$1" test levt "$(cat "$folder/dial")" >"$folder/levt.out"
    for name in $SYSTEMS; do triples words <"$folder/$name.out" >"$folder/$name.words"; done
    triples words <"$folder/test.clean" >"$folder/gold.words"
    triples gold "$folder"/test.{draft,clean} >"$folder/gold.m2"
}
scores() {  # scores CLIENT
    local folder="$OUT/$1" name peer
    for name in $SYSTEMS; do
        echo "$1, $name$([ $name != levt ] || echo ", threshold $(cat "$folder/dial")")"
        lev-plugins score m2 "$folder/"{$name.words,gold.m2} --bootstrap 1000 | grep "^system"
        lev-plugins score gleu "$folder"/{$name,gold}.words --source "$folder/nothing.words" | grep "^system"
        for peer in nothing rules; do
            lev-plugins score exact "$folder"/{$name,gold}.words --bootstrap 1000 --against "$folder/$peer.words" |
                grep -v "^draft"
        done
    done
}

[[ $DATA != data/aced || -e $DATA ]] || lev-plugins data aced
once texts texts
once data lev-plugins prepare -s src -d draft -t clean --bpe words --joined-dictionary --train-prefix "$OUT/all/train" \
    --valid-prefix "$OUT/all/valid" --dest "$OUT/data"
once model fairseq-train "$OUT/data" --save-dir "$OUT/model" --user-dir "$(lev-plugins path)" $DEVICE --seed "$SEED" \
    --task text_editing -s src -t clean --draft-lang draft --rollin-alpha 1 --rollin-beta 1 --arch levt_tiny \
    $(for side in encoder decoder; do echo "--$side-layers $LAYERS --$side-embed-dim $WIDTH --$side-ffn-embed-dim $FFN
        --$side-attention-heads $HEADS --$side-normalize-before"; done) --share-all-embeddings --dropout "$DROPOUT" \
    --max-insertions 15 --criterion dual_policy --label-smoothing 0 --placeholder-label-smoothing 0 \
    --optimizer fused_adam --adam-betas '(0.9,0.98)' --clip-norm 1 --max-tokens "$TOKENS" --lr "$LR" \
    --lr-scheduler polynomial_decay --warmup-updates $((SCHEDULE / 20)) --total-num-update "$SCHEDULE" \
    --max-update "$UPDATES" --no-epoch-checkpoints --no-progress-bar --log-format simple --log-interval 50 $TRAIN_FLAGS
once editor lev-plugins export "$OUT/model/checkpoint_last.pt" "$OUT/editor" --overwrite --bpe words \
    --iter-decode-max-iter 0 --data "$OUT/data" --language de
for client in $CLIENTS; do
    once "dial $client" dial "$client"; once "$client" systems "$client"
    scores "$client" | tee "$OUT/$client.scores"
done
