# Sourced by paper.sh and bert.sh.
TASKS=${TASKS:-mnli,qqp,qnli,mrpc,rte,sst2,cola,stsb}  # GLUE (Table 1); eurlex57k (Table 2); udpos (Table 3)
DATA=${DATA:-data/glue}  # a folder per task, as examples/data.py glue and eurlex57k write it; that of udpos has
# {train,valid}.conllu of English, and tests/LANGUAGE.conllu
MODEL=${MODEL:?is missing: the folder of a T5 (paper.sh) or a BERT (bert.sh), as downloaded from huggingface.co}
BACKBONE="$OUT/backbone" STSB=${STSB:-classes}
task() {  # task NAME: sets its files, kind and metric; columns of text and their template, words that T5 writes for the
    # labels 0 and 1, the most texts on a GPU at once, and the most tokens that T5 writes
    folder="$DATA/$1" suffix=tsv tests= kind=classification columns=1 template= words= longest=128 target=84
    more="--longer cut"  # flags of prepare-labels
    case $1 in  # the templates are those of T5 (t5/data/preprocessors.py: glue): names of columns in alphabetical order
        mnli) metric=accuracy columns=2 template='mnli hypothesis: {1} premise: {0}' tests=mismatched ;;
        qqp) metric=f1 columns=2 template='qqp question1: {0} question2: {1}' words="not_duplicate duplicate" ;;
        qnli) metric=accuracy columns=2 template='qnli question: {0} sentence: {1}' ;;
        mrpc) metric=f1 columns=2 template='mrpc sentence1: {0} sentence2: {1}' words="not_equivalent equivalent" ;;
        rte) metric=accuracy columns=2 template='rte sentence1: {0} sentence2: {1}' ;;
        sst2) metric=accuracy template='sst2 sentence: {0}' words="negative positive" ;;
        cola) metric=matthews template='cola sentence: {0}' words="unacceptable acceptable" ;;
        stsb) metric=spearman columns=2 template='stsb sentence1: {0} sentence2: {1}'
            more="--longer cut --round-labels 0.2"  # EncT5: 26 classes ("bucketized" in the paper); T5: a number
            [ $STSB = classes ] || kind=regression more="--longer cut" ;;
        eurlex57k) kind=multilabel metric=micro_f1 more="--labels $folder/labels.txt --longer cut" tests=test
            longest=16 target=64 ;;
        udpos) kind=tagging metric=tag_accuracy more= suffix=conllu target=1000
            tests=$(cd "$folder" && ls tests/*.conllu | sed 's/\.conllu$//') ;;
        *) echo "TASKS has an unknown name: $1" >&2; exit 2 ;;
    esac
    parts=(train valid) files=("$folder/train.$suffix" "$folder/valid.$suffix")  # fairseq says test, test1, test2, ...
    local test number=; for test in $tests; do
        parts+=("test$number"); files+=("$folder/$test.$suffix"); number=$((number + 1))
    done
}
labels() {  # labels DEST FLAGS...: the labelled texts of the task, binarised for EncT5
    lev-plugins prepare-labels --label-kind $kind --train "${files[0]}" --valid "${files[1]}" \
        $([ ${#files[@]} = 2 ] || echo --test "${files[@]:2}") --pretrained-tokenizer "$BACKBONE" --dest "$1" \
        --text-columns $columns "${@:2}" $more
}
scores() {  # scores CHECKPOINT DATA: of an EncT5, on valid and the tests
    local model; model=$(dirname "$1")
    lev-plugins export "$1" "$model.model" --overwrite
    for part in "${parts[@]:1}"; do
        python "$HERE/score.py" "$model.model" "$2" --part $part --output "$model.$part.scores"
    done
}
