# Sourced by the recipes: the paper's settings (section 4), for EncT5 and for T5 writing labels as text. NOT RUN at full scale.
# shellcheck shell=bash
set -euo pipefail
recipes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$recipes/../../.." && pwd)
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
text="" model="" out="" only="" flags=() enct5_flags=()
usage='use --text DIR --model FOLDER --out DIR [--only NAME,NAME] [--flags "..."] [--enct5-flags "..."]'

read_arguments() { # --flags go to every fairseq-train, --enct5-flags to those of EncT5
    while (($#)); do
        (($# > 1)) || { echo "$1 needs a value: $usage" >&2 && exit 2; }
        case $1 in
            --text) text=$2 ;;
            --model) model=$2 ;;
            --out) out=$2 ;;
            --only) only=$2 ;;
            --flags) read -ra flags <<<"$2" ;;
            --enct5-flags) read -ra enct5_flags <<<"$2" ;;
            *) echo "unknown flag $1: $usage" >&2 && exit 2 ;;
        esac
        shift 2
    done
    [[ " ${flags[*]} " == *" --cpu "* ]] && precision=() # there fairseq knows no --bf16
    [[ $text && $model && $out ]] || { echo "$usage" >&2 && exit 2; }
}

backbone() { # a folder as downloaded from huggingface.co
    [[ -d $out/backbone ]] || python -m lev_plugins import-pretrained "$model" "$out/backbone"
}

wanted() { # NAME
    [[ ! $only || ,$only, == *,$1,* ]]
}

# what differs from set to set
suffix=tsv                                               # of train and valid; conllu is read, too
tests=()                                                 # files
batch=(--pack --pack-length 512 --max-tokens 65536)      # EncT5: 128 rows of 512 tokens
longest_target=84                                        # T5: tokens that it may write
optimizer=(--optimizer adafactor --scale-parameter --lr 0.001 --dropout 0.1 --max-update 100000)
precision=(--bf16)

parts() { # valid, and the tests under fairseq's names for them
    local number
    echo valid
    for number in "${!tests[@]}"; do echo "test${number/#0/}"; done
}

file_of() { # NAME PART
    case $2 in
        train | valid) echo "$text/$1/$2.$suffix" ;;
        test) echo "${tests[0]}" ;;
        *) echo "${tests[${2#test}]}" ;;
    esac
}

enct5() { # NAME KIND METRIC FLAGS-OF-prepare-labels
    local name=$1 kind=$2 metric=$3 part given=()
    shift 3
    wanted "$name" || return 0
    ((${#tests[@]})) && given=(--test "${tests[@]}")
    [[ -d $out/$name/data ]] || python -m lev_plugins prepare-labels --label-kind "$kind" --train "$(file_of "$name" train)" \
        --valid "$(file_of "$name" valid)" "${given[@]}" --pretrained-tokenizer "$out/backbone" --dest "$out/$name/data" "$@"
    fairseq-train "$out/$name/data" --user-dir "$root/lev_plugins" --task text_labelling --label-kind "$kind" --arch enct5 \
        --backbone "$out/backbone" --criterion labelling "${batch[@]}" "${optimizer[@]}" "${precision[@]}" \
        --best-checkpoint-metric "$metric" --maximize-best-checkpoint-metric --no-epoch-checkpoints \
        --validate-interval 1000000 --validate-interval-updates 1000 --save-interval-updates 1000 \
        --keep-interval-updates 1 --save-dir "$out/$name/enct5" "${flags[@]}" "${enct5_flags[@]}"
    for part in $(parts); do
        echo "EncT5, $(file_of "$name" "$part"):"
        fairseq-validate "$out/$name/data" --user-dir "$root/lev_plugins" --task text_labelling --max-tokens 16384 \
            --path "$out/$name/enct5/checkpoint_best.pt" --valid-subset "$part" 2>&1 | tee "$out/$name/enct5/$part.scores"
    done
}

t5() { # NAME KIND FLAGS-OF-text_to_text: the baseline
    local name=$1 kind=$2 part here=$out/$1/t5 prefixes=() given=()
    shift 2
    wanted "$name" || return 0
    mkdir -p "$here"
    for part in train $(parts); do
        python "$recipes/text_to_text.py" "$(file_of "$name" "$part")" --label-kind "$kind" --output "$here/$part" "$@"
        python -m lev_plugins encode "$out/backbone" "$here/$part".{src,tgt} --into "$here/pieces"
        [[ $part == test* ]] && prefixes+=("$here/pieces/$part")
    done
    ((${#prefixes[@]})) && given=(--testpref "$(IFS=, && echo "${prefixes[*]}")")
    [[ -d $here/data ]] || fairseq-preprocess -s src -t tgt --trainpref "$here/pieces/train" --validpref "$here/pieces/valid" \
        "${given[@]}" --joined-dictionary --srcdict "$out/backbone/dict.txt" --destdir "$here/data"
    fairseq-train "$here/data" --user-dir "$root/lev_plugins" --task text_correction --arch gated_t5 --gates '' \
        --backbone "$out/backbone" --criterion cross_entropy --batch-size 128 "${optimizer[@]}" "${precision[@]}" --eval-exact-match \
        --truncate-source --max-source-positions 512 --max-target-positions 1024 \
        --best-checkpoint-metric exact_match --maximize-best-checkpoint-metric --no-epoch-checkpoints \
        --save-dir "$here/checkpoints" "${flags[@]}"
    for part in $(parts); do
        fairseq-generate "$here/data" --user-dir "$root/lev_plugins" --task text_correction --gen-subset "$part" --beam 1 \
            --max-len-b "$longest_target" --path "$here/checkpoints/checkpoint_best.pt" --truncate-source \
            --max-source-positions 512 --bpe pretrained --pretrained-tokenizer "$out/backbone" >"$here/$part.generated"
        echo "T5, $(file_of "$name" "$part"):"
        python "$recipes/text_to_text.py" "$(file_of "$name" "$part")" --label-kind "$kind" "$@" \
            --generated "$here/$part.generated" --output "$here/$part"
        cat "$here/$part.scores.json"
    done
}
