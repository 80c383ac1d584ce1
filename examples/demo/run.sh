#!/usr/bin/env bash
# Teach an editor to repair typos, and show it at work.
#
#   bash examples/demo/run.sh [OUT] [--packages A,B] [--sentences N] [--slips N] [--pieces N] [--updates N] [--threads N]
#
# OUT (demo-out) gets everything. A stage that is finished is not done again as long as the code and the options
# stay the same. --packages are those whose docstrings are read beside the standard library's, --sentences keeps the
# first N of each split (0: all), --slips is how many misspellings a word has (0: any), --pieces the size of the
# vocabulary, --updates the length of the training.
# --threads (two, if there are as many cores) is part of the recipe: sums of floats depend on it a little.
set -euo pipefail

say() { printf '%s\n' "$*" >&3; }
die() { printf '%s\n' "$*" >&2; exit 2; }
exec 3>&1

out=demo-out packages=numpy,scipy,sklearn,torch sentences=0 slips=4 pieces=8000 updates=2000
threads=$(($(getconf _NPROCESSORS_ONLN) < 2 ? 1 : 2))
demo=examples/demo
common=(--user-dir lev_plugins --task text_editing -s noisy -t clean --cpu)

read_options() {
    while (($#)); do
        case $1 in
            --sentences | --slips | --pieces | --updates | --threads)
                [[ ${2:-} =~ ^[0-9]+$ ]] || die "$1 must be a whole number, but is '${2:-}'"
                printf -v "${1#--}" '%s' "$2"
                shift 2 ;;
            --packages)
                (($# > 1)) || die "--packages needs names, or '' for none"
                packages=$2
                shift 2 ;;
            -*) die "there is no option $1: use --packages, --sentences, --slips, --pieces, --updates or --threads" ;;
            *) out=$1; shift ;;
        esac
    done
}

prepare() {
    mkdir -p "$out/log" "$out/done"
    shown=$out # as the user wrote it, for the command printed at the end
    out=$(cd "$out" && pwd)
    cd "$(dirname "${BASH_SOURCE[0]}")/../.."
    command -v fairseq-train >/dev/null || PATH=$PWD/.venv/bin:$PATH
    command -v fairseq-train >/dev/null || die "fairseq-train is not on the PATH: call \`make demo\`, or \`make setup\` first"

    export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} # the lev_plugins beside this script
    export PYTHONUTF8=1

    key=$({ echo "$packages $sentences $slips $pieces $updates $threads"; python -VV; find lev_plugins "$demo" -name '*.py' -print0 \
        | LC_ALL=C sort -z | xargs -0 cat "$demo/run.sh"; } | cksum)
}

# stage NAME WHAT: runs the function NAME, unless it has been done; its output goes to a log
stage() {
    local name=$1 what=$2 log=$out/log/$1.log start=$SECONDS status=0
    if [[ -f $out/done/$name && $(cat "$out/done/$name") == "$key" ]]; then
        say "$what: done before"
        return
    fi
    rm -f "$out/done/$name"
    say "$what ..."
    set +e # an if or || around the call would switch set -e off inside it
    (set -euo pipefail; "$name") >"$log" 2>&1
    status=$?
    set -e
    if ((status)); then
        tail -n 20 "$log" >&2
        die "failed: $what; the whole log is in $log"
    fi
    echo "$key" >"$out/done/$name"
    say "    $((SECONDS - start)) s"
}

corpus() {
    local counts
    counts=$(python "$demo/corpus.py" "$out/text" --packages "$packages" --sentences "$sentences")
    say "    $counts"
}

# four times the training sentences, each time with other typos, and more of them, for there is more to learn from
typos() {
    python "$demo/typos.py" "$out/text/train.txt" "$out/text/train.noisy" --slips "$slips" --copies 4 --rate 0.3
    for split in valid test; do
        python "$demo/typos.py" "$out/text/$split.txt" "$out/text/$split.noisy" --slips "$slips" --seed 2
    done
    for split in train valid test; do cp "$out/text/$split.txt" "$out/text/$split.clean"; done
    for _ in 2 3 4; do cat "$out/text/train.txt"; done >>"$out/text/train.clean"
}

# one vocabulary for both sides; as large a part of it learned from noisy text as from clean
vocabulary() {
    rm -rf "$out/pieces"
    mkdir "$out/pieces"
    head -n "$(wc -l <"$out/text/train.txt")" "$out/text/train.noisy" >"$out/pieces/sample.noisy"
    python "$demo/pieces.py" train "$out/pieces/model" "$pieces" "$out/text/train.txt" "$out/pieces/sample.noisy"
    for split in train valid test; do
        for side in noisy clean; do
            python "$demo/pieces.py" encode "$out/pieces/model.model" <"$out/text/$split.$side" >"$out/pieces/$split.$side"
        done
        cp "$out/pieces/$split.noisy" "$out/pieces/$split.draft" # the text to edit is the noisy text itself
    done
}

binarise() {
    local texts=(--trainpref "$out/pieces/train" --validpref "$out/pieces/valid" --testpref "$out/pieces/test")
    rm -rf "$out/data"
    fairseq-preprocess -s noisy -t clean "${texts[@]}" --joined-dictionary --destdir "$out/data" --workers "$threads"
    fairseq-preprocess -s draft -t clean --only-source --srcdict "$out/data/dict.clean.txt" "${texts[@]}" \
        --destdir "$out/data" --workers "$threads"
}

# passes a training log on, line by line as it comes, and shows what validation says
progress() {
    local line loss accuracy
    while IFS= read -r line; do
        printf '%s\n' "$line"
        [[ $line =~ '"valid_loss": "'([^\"]+) ]] || continue
        loss=${BASH_REMATCH[1]}
        [[ $line =~ '"valid_token_accuracy": "'([^\"]+) ]] && accuracy=${BASH_REMATCH[1]}
        [[ $line =~ '"valid_num_updates": "'([^\"]+) ]] &&
            say "    update ${BASH_REMATCH[1]}: validation loss $loss, $accuracy % of the missing pieces right"
    done
}

train() {
    rm -rf "$out/model"
    OMP_NUM_THREADS=$threads fairseq-train "$out/data" "${common[@]}" --seed 1 \
        --draft-lang draft --rollin-alpha 0.8 --rollin-beta 1.0 \
        --arch levt_tiny --share-all-embeddings --max-insertions 31 \
        --encoder-embed-dim 128 --encoder-ffn-embed-dim 256 --encoder-attention-heads 4 --encoder-normalize-before \
        --decoder-embed-dim 128 --decoder-ffn-embed-dim 256 --decoder-attention-heads 4 --decoder-normalize-before \
        --dropout 0 --criterion dual_policy \
        --optimizer adam --adam-betas '(0.9, 0.98)' --clip-norm 1 --max-tokens 2000 --max-update "$updates" \
        --lr 0.002 --lr-scheduler polynomial_decay --warmup-updates "$((updates / 10))" --total-num-update "$updates" \
        --validate-interval-updates "$((updates / 5 > 0 ? updates / 5 : 1))" --save-dir "$out/model" \
        --no-epoch-checkpoints --no-progress-bar --log-format json --log-interval 50 2>&1 | progress
}

# without fairseq leaves sentences out: the last batch, if 8 does not divide it
decode() {
    OMP_NUM_THREADS=$threads fairseq-generate "$out/data" "${common[@]}" --draft-lang draft --gen-subset test \
        --path "$out/model/checkpoint_best.pt" --bpe sentencepiece --sentencepiece-model "$out/pieces/model.model" \
        --max-tokens 4000 --retain-iter-history --print-step --iter-decode-max-iter 0
}

how_to_go_on() {
    cat <<EOF

All edits on one page:

  lev-plugins trace $shown/log/decode.log --remove-bpe sentencepiece --html $shown/trace.html

Your own sentence (a line is: source TAB draft):

  text='Retrun the vlaues of the functoin.'
  printf '%s\t%s\n' "\$text" "\$text" | fairseq-interactive $shown/data ${common[*]} --path $shown/model/checkpoint_best.pt --iter-decode-max-iter 0 \\
      --bpe sentencepiece --sentencepiece-model $shown/pieces/model.model | grep '^D-' | cut -f3
EOF
}

# read as a whole before it runs, so that editing this file disturbs no run that is under way
main() {
    read_options "$@"
    prepare
    stage corpus "[1/6] collect English sentences from the docstrings of installed packages"
    stage typos "[2/6] misspell one word in five"
    stage vocabulary "[3/6] cut words into pieces"
    stage binarise "[4/6] binarise"
    stage train "[5/6] train a Levenshtein Transformer, $updates updates, $threads thread(s)"
    stage decode "[6/6] edit the held-out sentences"
    say ""
    python "$demo/report.py" "$out/text/test.txt" "$out/text/test.noisy" "$out/log/decode.log" \
        "$out/text/train.noisy" | tee "$out/report.txt"
    how_to_go_on
}

main "$@"
exit
