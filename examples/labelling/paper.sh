#!/usr/bin/env bash
# The paper's sets and settings (section 4): EncT5 on a pre-trained T5, beside a T5 that writes the labels as text.
# Run on excerpts only.
#     TASKS=mrpc,rte DATA=data/glue MODEL=t5-v1_1-base OUT=runs/glue bash examples/labelling/paper.sh
#     TASKS=eurlex57k DATA=data MODEL=t5-v1_1-base OUT=runs/eurlex57k bash examples/labelling/paper.sh
source "$(dirname "$0")/../once.sh"
OUT=${OUT:-runs/glue}  # folder of all output; settings other than TASKS need another one
source "$HERE/tasks.sh"  # with the settings TASKS, DATA and MODEL
BATCH=${BATCH:-128}  # texts per update of both models, over all GPUs
ENCT5_FLAGS=${ENCT5_FLAGS:-}  # of EncT5; Table 4: --decoder-layers 12, alone and with --decoder-init backbone
same_settings DATA MODEL STSB BATCH ENCT5_FLAGS TRAIN_FLAGS

GPUS=$(nvidia-smi -L 2>/dev/null | wc -l) || true
FAIRSEQ+=(--required-batch-size-multiple 1)
SOURCE="--truncate-source --max-source-positions 512"
train() {  # train DATA SAVE_DIR FLAGS...: the same number of texts per update for both models, without packing
    local share=$((BATCH / (GPUS > 0 ? GPUS : 1))) size=$longest
    while ((share % size)); do size=$((size - 1)); done
    fairseq-train "$1" --save-dir "$2" "${FAIRSEQ[@]}" --log-format simple --optimizer adafactor --scale-parameter \
        --lr 0.001 --max-update 100000 --dropout 0.1 $([ "$CPU" ] || echo --bf16) --no-epoch-checkpoints \
        --validate-interval 1000000 --validate-interval-updates 5000 --save-interval-updates 5000 \
        --batch-size $size --update-freq $((share / size)) $TRAIN_FLAGS "${@:3}" |& tee -a "$2.log"
}
as_text() {  # as_text FILE FLAGS...: texts and labels as T5 reads and writes them; or the scores of what it wrote
    local t5_kind=$([ $metric = spearman ] && echo regression || echo $kind)
    python "$HERE/text_to_text.py" "$1" --label-kind $t5_kind --text-columns $columns \
        ${template:+--template "$template"} ${words:+--label-words $words} "${@:2}"
}
t5_data() {  # t5_data FOLDER: the pieces of T5, with targets that are cut off
    local prefixes=()
    mkdir -p "$1/pieces"
    for i in "${!parts[@]}"; do
        as_text "${files[i]}" --output "$1/${parts[i]}"
        lev-plugins encode "$BACKBONE" "$1/${parts[i]}".{src,tgt} --into "$1/whole"
        cp "$1/whole/${parts[i]}.src" "$1/pieces"
        cut -d ' ' -f 1-$((target - 1)) "$1/whole/${parts[i]}.tgt" >"$1/pieces/${parts[i]}.tgt"
        prefixes+=("$1/pieces/${parts[i]}")
    done
    fairseq-preprocess -s src -t tgt --trainpref "${prefixes[0]}" --validpref "${prefixes[1]}" --joined-dictionary \
        --testpref "$(IFS=,; echo "${prefixes[*]:2}")" --srcdict "$BACKBONE/dict.txt" --destdir "$1/bin"
}
t5_scores() {  # t5_scores CHECKPOINT PREFIX NUMBER...: PREFIX.PART.scores.json of parts, by their numbers
    for i in "${@:3}"; do
        fairseq-generate "$out/t5_data/bin" --path "$1" "${FAIRSEQ[@]}" --task text_correction $SOURCE --beam 1 \
            --gen-subset "${parts[i]}" --max-len-b $target --bpe pretrained --pretrained-tokenizer "$BACKBONE" \
            --batch-size $longest >"$2.${parts[i]}"
        as_text "${files[i]}" --generated "$2.${parts[i]}" --output "$2.${parts[i]}"
    done
}
t5_choice() {  # the checkpoint with the best score on valid, the earliest of equal ones, as of EncT5
    for checkpoint in $(ls "$out"/t5/checkpoint_[0-9]*.pt "$out/t5/checkpoint_last.pt" 2>/dev/null | sort -V); do
        t5_scores "$checkpoint" "$checkpoint" 1  # valid
        python -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]], sys.argv[2])' $metric "$checkpoint" \
            <"$checkpoint.valid.scores.json"
    done | best >"$out/t5.best"
}

once backbone lev-plugins import-pretrained "$MODEL" "$BACKBONE"
for name in ${TASKS//,/ }; do
    task $name; out="$OUT/$name"
    once $name-labels labels "$out/labels" ${template:+--template "$template"}
    once $name-enct5 train "$out/labels" "$out/enct5" --task text_labelling --label-kind $kind --arch enct5 \
        --backbone "$BACKBONE" --criterion labelling --keep-interval-updates 1 --best-checkpoint-metric $metric \
        --maximize-best-checkpoint-metric $ENCT5_FLAGS
    once $name-enct5-scores scores "$out/enct5/checkpoint_best.pt" "$out/labels"
    once $name-t5-data t5_data "$out/t5_data"
    once $name-t5 train "$out/t5_data/bin" "$out/t5" --task text_correction --arch gated_t5 --gates '' --backbone \
        "$BACKBONE" --criterion cross_entropy $SOURCE --max-target-positions $target
    once $name-t5-choice t5_choice
    once $name-t5-scores t5_scores "$(cat "$out/t5.best")" "$out/t5" $(seq 1 $((${#parts[@]} - 1)))
done
tail -n +1 "$OUT"/*/*.scores "$OUT"/*/t5.*.scores.json
