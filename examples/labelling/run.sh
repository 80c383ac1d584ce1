#!/usr/bin/env bash
# EncT5 at a small size: classes, pairs, label sets and tags, compared with simple baselines.
#     bash examples/labelling/run.sh
#     TASKS=mrpc MODELS=pretrained BACKBONE=DIR OUT=runs/labelling-bert bash examples/labelling/run.sh
source "$(dirname "$0")/../once.sh"
# DATA: folder of the published sets; OUT: folder of all output, another one for settings other than TASKS and MODELS
# TASKS: also hter (edit rates of translations) and hter21 (the same as classes)
# MODELS: one has one latent for all labels of a set; also pretrained, with BACKBONE, a pre-trained T5 or BERT: a folder
# that lev-plugins import-pretrained has written
DATA=${DATA:-data/labelling} OUT=${OUT:-runs/labelling} TASKS=${TASKS:-sst2,mrpc,emotions,pos}
MODELS=${MODELS:-plain,one,spelled,baselines}
SENTENCES=${SENTENCES:-0} VOCAB=${VOCAB:-8000}  # first lines of files (0: all); pieces of sentencepiece
WIDTH=${WIDTH:-128} FFN=${FFN:-256}  # of the encoder
UPDATES=${UPDATES:-3000} VALID_EVERY=${VALID_EVERY:-300}  # updates, also between two scorings of the validation set
BACKBONE=${BACKBONE:-} BACKBONE_UPDATES=${BACKBONE_UPDATES:-1500} BACKBONE_FLAGS=${BACKBONE_FLAGS:---max-tokens 1024}
same_settings DATA SENTENCES VOCAB WIDTH FFN UPDATES VALID_EVERY SEED TRAIN_FLAGS
SIZES="--embed-dim $WIDTH --ffn-embed-dim $FFN --layers 2 --attention-heads 4 --head-dim $((WIDTH / 4))"

data() {  # data NAME FLAGS...: the texts of a task, binarised
    lev-plugins prepare-labels --label-kind $kind $layout --train "$folder/text/train.tsv" \
        --valid "$folder/text/valid.tsv" --test "$folder/text/test.tsv" "${@:2}" --dest "$folder/$1"
}
pieces() { once "pieces-$task" data pieces --learn-sentencepiece "$VOCAB"; }
model() {  # model NAME DATA UPDATES FLAGS...: an EncT5, and its scores
    fairseq-train "$folder/$2" --save-dir "$folder/$1" "${FAIRSEQ[@]}" --log-format simple --log-interval 50 \
        --seed "$SEED" --task text_labelling --label-kind $kind --arch enct5 --criterion labelling --decoder-layers 1 \
        --dropout 0.1 --clip-norm 1 --max-tokens 4096 --optimizer adam --adam-betas '(0.9,0.98)' \
        $(linear_rate 0.001 200 "$3") $(checkpoint_every "$VALID_EVERY") --best-checkpoint-metric $metric \
        --maximize-best-checkpoint-metric $TRAIN_FLAGS "${@:4}" |& tee -a "$folder/$1.log"
    lev-plugins export "$folder/$1/checkpoint_best.pt" "$folder/$1.model" --overwrite
    python "$HERE/score.py" "$folder/$1.model" "$folder/$2" --output "$folder/$1.scores"
}

for task in ${TASKS//,/ }; do
    folder="$OUT/$task" layout= words="--bpe words" small= more=$UPDATES
    case $task in  # the published set, its folder and test, the kind of its labels, and the score that chooses
        sst2) published=sst2 set=cls-sst2 test=valid kind=classification metric=accuracy ;;
        mrpc) published=mrpc set=pair-mrpc test=dev kind=classification metric=f1 layout="--text-columns 2" ;;
        emotions) published=goemotions set=multilabel-goemotions test=dev kind=multilabel metric=micro_f1
            layout="--numbered-labels --labels $DATA/$set/labels.txt" ;;
        pos) published=ud-ewt set=pos-ud-ewt test=dev kind=tagging metric=tag_accuracy
            words= small="--lr 0.0015 --max-tokens 1500" more=$((UPDATES * 5 / 3)) ;;
        hter) published=mlqe-pe set=ape-mlqe/en-de test=valid kind=regression metric=pearson
            layout="--text-columns 2" ;;
        hter21) published=mlqe-pe set=ape-mlqe/en-de test=valid kind=classification metric=pearson
            layout="--text-columns 2 --round-labels 0.05" ;;
        *) echo "TASKS has an unknown name: $task" >&2; exit 2 ;;
    esac
    [ -d "$DATA/$set" ] || python "$HERE/../data.py" $published "$DATA/$set"
    once "text-$task" python "$HERE/texts.py" "$DATA/$set" $test "$folder/text" --sentences "$SENTENCES"
    for name in ${MODELS//,/ }; do
        case $name in
            plain) pieces; once "plain-$task" model plain pieces "$UPDATES" $SIZES ;;
            one) [ $kind = multilabel ] || continue
                pieces; once "one-$task" model one pieces "$UPDATES" $SIZES --latents one ;;
            spelled) once "words-$task" data words $words
                once "spelled-$task" model spelled words "$more" $SIZES --spelling $small --dropout 0.3 \
                    --word-dropout 0.25 ;;
            pretrained) same_settings BACKBONE BACKBONE_UPDATES BACKBONE_FLAGS
                once "backbone-$task" data backbone --pretrained-tokenizer "${BACKBONE:?is missing: see README}"
                once "pretrained-$task" model pretrained backbone "$BACKBONE_UPDATES" --backbone "$BACKBONE" \
                    --optimizer scaled_adam --backbone-lr-factor 0.1 $BACKBONE_FLAGS ;;
            baselines) once "baselines-$task" python "$HERE/baselines.py" "$folder/text" \
                --label-kind $kind $layout --output "$folder/baselines.scores" ;;
            *) echo "MODELS has an unknown name: $name" >&2; exit 2 ;;
        esac
    done
done
tail -n +1 "$OUT"/*/*.scores
