#!/usr/bin/env bash
# EncT5 at a small size: classes, pairs, label sets and tags, compared with simple baselines.
#     bash examples/labelling/run.sh
#     TASKS=mrpc MODELS=pretrained BACKBONE=DIR OUT=runs/labelling-bert bash examples/labelling/run.sh
set -euo pipefail
source "$(dirname "$0")/../once.sh"
DATA=${DATA:-data/labelling}  # folder of the published sets
OUT=${OUT:-runs/labelling}  # folder of all output; settings other than TASKS and MODELS need another one
TASKS=${TASKS:-sst2,mrpc,emotions,pos}  # also hter (edit rates of translations) and hter21 (the same as classes)
MODELS=${MODELS:-plain,one,spelled,baselines}  # one: one latent for all labels of a set; also pretrained, with BACKBONE
SENTENCES=${SENTENCES:-0} VOCAB=${VOCAB:-8000} TOKENS=${TOKENS:-4096}  # first lines of files (0: all); pieces; batch
LAYERS=${LAYERS:-2} WIDTH=${WIDTH:-128} FFN=${FFN:-256}  # the encoder: blocks, width, feed-forward width
UPDATES=${UPDATES:-3000} LR=${LR:-0.001} WARMUP=${WARMUP:-200}  # the rate falls linearly to zero
VALID_EVERY=${VALID_EVERY:-300}  # updates between two scorings of the validation set (and checkpoints)
TRAIN_FLAGS=${TRAIN_FLAGS:-}  # more flags for fairseq-train; the last of equal flags applies
SPELLED_FLAGS=${SPELLED_FLAGS:---dropout 0.3 --word-dropout 0.25}  # ... with spelling-aware words
BACKBONE=${BACKBONE:-}  # a pre-trained T5 or BERT: folder written by lev-plugins import-pretrained
BACKBONE_UPDATES=${BACKBONE_UPDATES:-1500} BACKBONE_FLAGS=${BACKBONE_FLAGS:---max-tokens 1024}
SEED=${SEED:-1} THREADS=${THREADS:-2}  # random seed; threads of a training on the CPU

export OMP_NUM_THREADS=$THREADS
DEVICE=$(command -v nvidia-smi >/dev/null || echo --cpu)
SIZES="--embed-dim $WIDTH --ffn-embed-dim $FFN --layers $LAYERS --attention-heads 4 --head-dim $((WIDTH / 4))"

lines() { if [ -f "$1.tsv" ]; then cat "$1.tsv"; else paste "$1".{src,mt,hter}; fi |
    awk -v most="$SENTENCES" '!most || NR <= most'; }
text() {  # text SET TEST: one training line in 20, but at most 2,000, are held out to validate
    mkdir -p "$folder/text"; lines "$1/$2" >"$folder/text/test.tsv"; lines "$1/train" >"$folder/text/all"
    local step=$((($(wc -l <"$folder/text/all") + 1999) / 2000))
    awk -v step=$((step < 20 ? 20 : step)) -v out="$folder/text" \
        '{ print >(out (NR % step ? "/train.tsv" : "/valid.tsv")) }' "$folder/text/all"
}
data() {  # data NAME FLAGS...: the texts of a task, binarised
    lev-plugins prepare-labels --label-kind $kind $layout --train "$folder/text/train.tsv" \
        --valid "$folder/text/valid.tsv" --test "$folder/text/test.tsv" "${@:2}" --dest "$folder/$1"
}
model() {  # model NAME DATA UPDATES FLAGS...: an EncT5, and its scores
    fairseq-train "$folder/$2" --save-dir "$folder/$1" --user-dir "$(lev-plugins path)" $DEVICE --no-progress-bar \
        --log-format simple --log-interval 50 --seed "$SEED" --task text_labelling --label-kind $kind --arch enct5 \
        --criterion labelling --decoder-layers 1 --dropout 0.1 --clip-norm 1 --max-tokens "$TOKENS" \
        --optimizer adam --adam-betas '(0.9,0.98)' --lr "$LR" --lr-scheduler polynomial_decay \
        --warmup-updates "$WARMUP" --max-update "$3" --total-num-update "$3" --best-checkpoint-metric $metric \
        --maximize-best-checkpoint-metric --no-epoch-checkpoints --validate-interval 1000000 \
        --validate-interval-updates "$VALID_EVERY" --save-interval-updates "$VALID_EVERY" --keep-interval-updates 1 \
        $TRAIN_FLAGS "${@:4}" |& tee -a "$folder/$1.log"
    lev-plugins export "$folder/$1/checkpoint_best.pt" "$folder/$1.model" --overwrite
    python "$(dirname "$0")/score.py" "$folder/$1.model" "$folder/$2" --output "$folder/$1.scores"
}

for task in ${TASKS//,/ }; do
    labels="$DATA/multilabel-goemotions/labels.txt" folder="$OUT/$task"
    case $task in  # name and folder of the published set, its test, kind of labels, score that chooses, layout
        sst2) row="sst2 cls-sst2 valid classification accuracy" ;;
        mrpc) row="mrpc pair-mrpc dev classification f1 --text-columns 2" ;;
        emotions) row="goemotions multilabel-goemotions dev multilabel micro_f1 --numbered-labels --labels $labels" ;;
        pos) row="ud-ewt pos-ud-ewt dev tagging tag_accuracy" ;;
        hter) row="mlqe-pe ape-mlqe/en-de valid regression pearson --text-columns 2" ;;
        hter21) row="mlqe-pe ape-mlqe/en-de valid classification pearson --text-columns 2 --round-labels 0.05" ;;
        *) echo "TASKS has an unknown name: $task" >&2; exit 2 ;;
    esac
    read -r published set test kind metric layout <<<"$row"
    [ -d "$DATA/$set" ] || lev-plugins data $published "$DATA/$set"
    once "text-$task" text "$DATA/$set" $test
    words="--bpe words" small= more=$UPDATES pieces="once pieces-$task data pieces --learn-sentencepiece $VOCAB"
    [ $task != pos ] || words= small="--lr 0.0015 --max-tokens 1500" more=$((UPDATES * 5 / 3))
    for name in ${MODELS//,/ }; do
        case $name in
            plain) $pieces; once "plain-$task" model plain pieces "$UPDATES" $SIZES ;;
            one) [ $kind != multilabel ] || { $pieces; once one-$task model one pieces $UPDATES $SIZES --latents one; } ;;
            spelled) once "words-$task" data words $words
                once "spelled-$task" model spelled words "$more" $SIZES --spelling $small $SPELLED_FLAGS ;;
            pretrained) once "backbone-$task" data backbone --pretrained-tokenizer "${BACKBONE:?is missing: see README}"
                once "pretrained-$task" model pretrained backbone "$BACKBONE_UPDATES" --backbone "$BACKBONE" \
                    --optimizer scaled_adam --backbone-lr-factor 0.1 $BACKBONE_FLAGS ;;
            baselines) once "baselines-$task" python "$(dirname "$0")/baselines.py" "$folder/text" \
                --label-kind $kind $layout --output "$folder/baselines.scores" ;;
            *) echo "MODELS has an unknown name: $name" >&2; exit 2 ;;
        esac
    done
done
tail -n +1 "$OUT"/*/*.scores
