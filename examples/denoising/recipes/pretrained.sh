# What the recipes beside it have in common: pre-trained BERT, BART and T5, with and without gates (appendix B of the paper).
# Sourced. NOT RUN at full scale here: the flags are the paper's, the scores are unknown.
#
# Cross-entropy, Adam (0.9, 0.999), learning rate 5e-5, weight decay 0.001, batches of 32, at most 30 epochs, stopped after
# 10 without a better validation, texts cut after 300 pieces, sets without splits cut 80-10-10. What is new (gates,
# BERT's cross-attention) has ten times the learning rate; the paper says "larger" and no more.
# shellcheck shell=bash

recipes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$recipes/../../.." && pwd)
[[ -d $root/.venv/bin ]] && PATH="$root/.venv/bin:$PATH"
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
declare -A hub=([bert]=bert-base-uncased [bart]=facebook/bart-base [t5]=t5-base)
paper=(
    --systems none,all,MG,CG,MCG --gate-mix hidden --copy-from decoder-input
    --updates 1000000 --schedule fixed --smoothing 0 --lr 0.0005 --lr-factor 0.1 --warmup 0 --epochs 30 --patience 10
    --valid-every 0 --longest 300 --tokens 9600 --copies 1
)
out="" models=bert,bart,t5 from="" dry="" rest=()

read_recipe() { # FLAGS: --out, --models and --from are ours, the others go to run.sh
    while (($#)); do
        case $1 in
        --out) out=${2%/}; shift ;;
        --models) models=$2; shift ;;
        --from) from=$2; shift ;;
        --dry-run) dry=yes; rest+=("$1") ;;
        *) rest+=("$1") ;;
        esac
        shift
    done
    [[ $out ]] || { echo "$(basename "$0"): error: --out is missing: give a folder" >&2; exit 2; }
    for model in ${models//,/ }; do
        [[ -v hub[$model] ]] || { echo "$(basename "$0"): error: --models takes bert, bart, t5, not $model" >&2; exit 2; }
    done
}

doing() { # COMMAND...: printed in a dry run
    if [[ $dry ]]; then printf '%q ' "$@"; echo; else "$@"; fi
}

reproduce() { # the set's flags; the user's win
    local model
    for model in ${models//,/ }; do
        [[ -f $out/$model/backbone/dict.txt ]] ||
            doing python -m lev_plugins import-pretrained --hub "${hub[$model]}" "$out/$model/backbone"
        bash "$recipes/../run.sh" --out "$out/$model" --backbone "$out/$model/backbone" "${paper[@]}" "$@" "${rest[@]}"
    done
}

fetched() { # SET: its pairs, fetched once
    [[ -f $out/text/all.tgt ]] || doing python "$recipes/fetch.py" "$1" "$out/text"
}
