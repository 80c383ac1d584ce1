#!/usr/bin/env bash
# Edit translations that professionals have already made, as a second professional would: see RESULTS.md.
#     bash examples/post_editing/aced.sh
set -euo pipefail
source "$(dirname "$0")/../once.sh"

DATA=${DATA:-data/aced}  # folder with a folder per client: {train,dev}.{src,pert,tgt}
OUT=${OUT:-runs/aced}  # folder of all output; other settings need another one
CLIENTS=${CLIENTS:-emerson digitalocean asics}  # one editor for all of them
UPDATES=${UPDATES:-375} SCHEDULE=${SCHEDULE:-1500}  # more updates overfit; after SCHEDULE, the learning rate would be zero
THRESHOLDS=${THRESHOLDS:-0 0.5 0.7 0.8 0.9 0.95 0.98}  # of confidence, tried on triples that are held out of train
# see RESULTS.md; rules and context learn from all triples of train, also those that the levt has as valid;
# every: all edits of the levt; levt: those that reach the threshold that is best on valid
SYSTEMS="nothing rules rules-online context context-online every levt"
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
    local folder="$OUT/$1" flags=()
    case $3 in *-online) flags=(--corrected "$folder/$2.clean") ;; esac
    case $3:${4-} in
        nothing:* | levt:none) cat "$folder/$2.draft" ;;
        levt:*) lev-plugins edit "$OUT/editor" --drafts "$folder/$2.draft" --min-confidence "$4" --whole-lines $CPU \
            <"$folder/$2.src" ;;
        rules* | context*) [[ $3 = context* ]] || flags+=(--rules)
            python "$HERE/recurring.py" "$DATA/$1"/train.{src,pert,tgt} --source "$folder/$2.src" "${flags[@]}" \
                <"$folder/$2.draft" ;;
    esac
}
dial() {  # dial CLIENT: the threshold of the levt with the most right sentences of valid; none, if none is better than no edit
    local folder="$OUT/$1" threshold
    triples words <"$folder/valid.clean" >"$folder/valid.gold"
    for threshold in none $THRESHOLDS; do
        edited "$1" valid levt "$threshold" | triples words >"$folder/valid.words"
        lev-plugins score exact "$folder/valid.words" "$folder/valid.gold" --json | numbers %s score
        echo "$threshold"
    done | paste -d ' ' - - | best >"$folder/dial"
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
once model train_editor "$OUT/data" "$OUT/model" "$SCHEDULE" 0.002 -s src -t clean --max-update "$UPDATES" \
    $(sizes 2 192 576 4) --dropout 0.2 --max-insertions 15
once editor lev-plugins export "$OUT/model/checkpoint_last.pt" "$OUT/editor" --overwrite --bpe words \
    --iter-decode-max-iter 0 --data "$OUT/data" --language de
for client in $CLIENTS; do
    once "dial $client" dial "$client"; once "$client" systems "$client"
    scores "$client" | tee "$OUT/$client.scores"
done
