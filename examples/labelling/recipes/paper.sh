# Sourced by the recipes: the paper's settings (section 4), for EncT5 and for T5 writing labels as text. NOT RUN at full scale.
# shellcheck shell=bash
set -euo pipefail
recipes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$recipes/../../.." && pwd)
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
text="" model="" out=""

read_arguments() {
    while (($#)); do
        case $1 in
            --text) text=$2 ;;
            --model) model=$2 ;;
            --out) out=$2 ;;
            *) echo "unknown flag $1: use --text DIR --model FOLDER --out DIR" >&2 && exit 2 ;;
        esac
        shift 2
    done
    [[ $text && $model && $out ]] || { echo "use --text DIR --model FOLDER --out DIR" >&2 && exit 2; }
}

backbone() { # a folder as downloaded from huggingface.co
    [[ -d $out/backbone ]] || python -m lev_plugins import-pretrained "$model" "$out/backbone"
}

optimizer=(--optimizer adafactor --scale-parameter --lr 0.001 --dropout 0.1 --max-update 100000 --bf16)

enct5() { # NAME KIND METRIC FLAGS-OF-PREPARE -- FLAGS-OF-TRAIN
    local name=$1 kind=$2 metric=$3 prepare=()
    shift 3
    while (($#)) && [[ $1 != -- ]]; do prepare+=("$1") && shift; done
    (($#)) && shift
    [[ -d $out/$name/data ]] || python -m lev_plugins prepare-labels --label-kind "$kind" --train "$text/$name/train.tsv" \
        --valid "$text/$name/valid.tsv" --pretrained-tokenizer "$out/backbone" --dest "$out/$name/data" "${prepare[@]}"
    fairseq-train "$out/$name/data" --user-dir "$root/lev_plugins" --task text_labelling --label-kind "$kind" --arch enct5 \
        --backbone "$out/backbone" --criterion labelling --pack --pack-length 512 --max-tokens 65536 "${optimizer[@]}" \
        --best-checkpoint-metric "$metric" --maximize-best-checkpoint-metric --no-epoch-checkpoints \
        --validate-interval 1000000 --validate-interval-updates 1000 --save-interval-updates 1000 \
        --keep-interval-updates 1 --save-dir "$out/$name/enct5" "$@"
}

t5() { # NAME KIND FLAGS-OF-text_to_text: the baseline
    local name=$1 kind=$2 split
    shift 2
    mkdir -p "$out/$name/t5"
    for split in train valid; do
        python "$recipes/text_to_text.py" "$text/$name/$split.tsv" --label-kind "$kind" --output "$out/$name/t5/$split" "$@"
        python -m lev_plugins encode "$out/backbone" "$out/$name/t5/$split".{src,tgt} --into "$out/$name/t5/pieces"
    done
    fairseq-preprocess -s src -t tgt --trainpref "$out/$name/t5/pieces/train" --validpref "$out/$name/t5/pieces/valid" \
        --joined-dictionary --srcdict "$out/backbone/dict.txt" --destdir "$out/$name/t5/data"
    fairseq-train "$out/$name/t5/data" --user-dir "$root/lev_plugins" --task text_correction --arch gated_t5 --gates '' \
        --backbone "$out/backbone" --criterion cross_entropy --batch-size 128 "${optimizer[@]}" --eval-exact-match \
        --best-checkpoint-metric exact_match --maximize-best-checkpoint-metric --no-epoch-checkpoints \
        --save-dir "$out/$name/t5/checkpoints"
}
