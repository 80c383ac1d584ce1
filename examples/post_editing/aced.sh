#!/usr/bin/env bash
# Edit translations that professionals have already made, as a second professional would: see RESULTS.md.
#     bash examples/post_editing/aced.sh
source "$(dirname "$0")/../once.sh"

# DATA: folder with a folder per client, {train,dev}.{src,pert,tgt}; OUT: folder of all output, another one for other
# settings; CLIENTS: one editor for all of them
DATA=${DATA:-data/aced} OUT=${OUT:-runs/aced} CLIENTS=${CLIENTS:-emerson digitalocean asics}
UPDATES=${UPDATES:-375} SCHEDULE=${SCHEDULE:-1500}  # more updates overfit; after SCHEDULE, the rate would be zero
THRESHOLDS=${THRESHOLDS:-0 0.5 0.7 0.8 0.9 0.95 0.98}  # of confidence, tried on triples that are held out of train
same_settings DATA CLIENTS UPDATES SCHEDULE THRESHOLDS SEED TRAIN_FLAGS
scores() {  # scores CLIENT
    local folder="$OUT/$1" name peer
    for name in nothing rules rules-online context context-online every levt; do  # see aced.py
        echo "$1, $name$([ $name != levt ] || echo ", threshold $(cat "$folder/threshold")")"
        lev-plugins score m2 "$folder/"{$name.words,gold.m2} --bootstrap 1000 | grep "^system"
        lev-plugins score gleu "$folder"/{$name,gold}.words --source "$folder/nothing.words" | grep "^system"
        for peer in nothing rules; do
            lev-plugins score exact "$folder"/{$name,gold}.words --bootstrap 1000 --against "$folder/$peer.words"
        done
    done
}

[[ $DATA != data/aced || -e $DATA ]] || python "$HERE/../data.py" aced
once texts python "$HERE/triples.py" "$DATA" "$OUT" $CLIENTS
once data lev-plugins prepare -s src -d draft -t clean --bpe words --joined-dictionary --train-prefix "$OUT/all/train" \
    --valid-prefix "$OUT/all/valid" --dest "$OUT/data"
once model train_editor "$OUT/data" "$OUT/model" "$SCHEDULE" 0.002 -s src -t clean --max-update "$UPDATES" \
    $(sizes 2 192 576 4) --dropout 0.2 --max-insertions 15 --validate-interval-updates 0 --save-interval-updates 0
once editor lev-plugins export "$OUT/model/checkpoint_last.pt" "$OUT/editor" --overwrite --bpe words \
    --iter-decode-max-iter 0 --data "$OUT/data" --language de
for client in $CLIENTS; do
    once "$client" python "$HERE/aced.py" "$DATA/$client" "$OUT/$client" --editor "$OUT/editor" \
        --thresholds $THRESHOLDS
    scores "$client" | tee "$OUT/$client.scores"
done
