#!/usr/bin/env bash
# Words corrected character by character, as in Table 2 of the PBD paper: fairseq's Transformer, PBD, its ablations, LevT.
# `run.sh --help` lists the flags, README.md tells what comes out.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../stages.sh"
synopsis="--data DIR --out DIR [--only pbd2,transformer2] [--folds 0,1,2]"
layers=(2 4)
ablations=(no-future no-segments no-sharing)

systems() {
    local kind depth ablation
    for depth in "${layers[@]}"; do
        for kind in transformer pbd levt; do echo "$kind$depth"; done
        for ablation in "${ablations[@]}"; do echo "pbd$depth-$ablation"; done
    done
}

flags() {
    cat <<'END'
data              -       folder of folds: fold0, fold1, ... with train, dev, test .src and .tgt, a word a line, characters between blanks
out               -       folder for everything that is made; run again with the same one to go on after a stop
folds             0,1,2   which folds
only              -       which systems, with commas between, of transformer2, pbd2, levt2, pbd2-no-future, ..., the same with 4; without it all
words             0       take so many words of each file, 0 = all
by-type           no      train on each different pair once, not as often as it occurs
updates           4500    updates of the training
tokens            1000    tokens in a batch
width             256     model width
ffn               1024    feed-forward width
heads             4       attention heads
dropout           0.2     dropout
attention-dropout 0       dropout of attention weights
future-dropout    0       PBD: how often a token of the copied future is hidden
lr                0.001   peak learning rate
warmup            500     updates until then
schedule          polynomial_decay   how the rate falls after that: polynomial_decay (to zero, in a straight line) or inverse_sqrt
label-smoothing   0.1     label smoothing
noise-share       0       share of the training words whose misreading is drawn anew, by the confusions of the training pairs (not LevT)
train-flags       -       more flags for fairseq-train, in one word
valid-beam        1       beam of the validation after each epoch
average           5       the best N checkpoints on dev are averaged; dev chooses between these and the best one
beam              5       beam of the test
max-iter          9       LevT: the most iterations after the first
seed              1       random seed
gpus              auto    GPUs to use; 0 = CPU
threads           1       CPU: threads of a training
dry-run           no      print the commands and do nothing
END
}

check_flags() {
    local name known
    known=" $(systems | xargs) "
    need_folders data out
    need_numbers 1 updates tokens width ffn heads warmup valid-beam average beam threads
    need_numbers 0 words max-iter
    one_of schedule polynomial_decay inverse_sqrt
    need_gpus
    [[ ${opt[folds]} =~ ^[0-9]+(,[0-9]+)*$ ]] || die "--folds must be numbers such as 0,1,2, but is '${opt[folds]}'"
    for name in ${opt[only]//,/ }; do
        [[ $known == *" $name "* ]] || die "--only has no $name: choose from${known% }"
    done
    [[ ${opt[dry-run]} ]] && return
    [[ -d ${opt[data]} ]] || die "--data ${opt[data]}: there is no such folder"
    for name in ${opt[folds]//,/ }; do
        need_files "--folds ${opt[folds]}" "${opt[data]}/fold$name"/{train,dev,test}.{src,tgt}
    done
    need_fairseq
}

# ---- texts -------------------------------------------------------------------------------------------------------

define() { # NAME COMMAND...: a stage
    eval "do_$1() { ${*:2}; }"
}

plugins() {
    logged python -m lev_plugins "$@"
}

files_of() { # FOLD
    local split
    for split in train dev test; do cat "${opt[data]}/fold$1/$split".{src,tgt}; done
}

texts() { # FOLD: train, valid, test .src, .draft (the same) and .tgt; train .words.src and .words.tgt for the confusions
    local by_type=()
    [[ ${opt[by-type]} ]] && by_type=(--by-type)
    logged python "$here/texts.py" "${opt[data]}/fold$1" "$out/fold$1_texts" --words "${opt[words]}" "${by_type[@]}"
}

data() { # FOLD
    local texts=$out/fold$1_texts
    plugins prepare -s src -d draft -t tgt --train-prefix "$texts/train" --valid-prefix "$texts/valid" \
        --test-prefix "$texts/test" --joined-dictionary --dest "$out/fold$1_data/data"
}

confusions() { # FOLD
    captured "$out/fold$1_confusions/table.tsv" python -m lev_plugins confusions "$out/fold$1_texts/train.words.src" \
        "$out/fold$1_texts/train.words.tgt"
}

# ---- systems -----------------------------------------------------------------------------------------------------

two_sides() { # LAYERS
    local side
    for side in encoder decoder; do
        echo "--$side-layers" "$1" "--$side-embed-dim" "${opt[width]}" "--$side-ffn-embed-dim" "${opt[ffn]}" \
            "--$side-attention-heads" "${opt[heads]}"
    done
}

architecture() { # SYSTEM: flags of the model and the task
    local kind=${1%%[0-9]*} rest=${1#*[0-9]} depth=${1//[^0-9]/}
    case $kind in
        transformer) echo --task text_correction --arch transformer $(two_sides "$depth") ;;
        levt) echo --task text_editing --draft-lang draft --arch levt $(two_sides "$depth") ;;
        pbd)
            echo --task text_correction --arch pbd --layers "$depth" --embed-dim "${opt[width]}" \
                --ffn-embed-dim "${opt[ffn]}" --attention-heads "${opt[heads]}" ${rest:+"-$rest"}
            [[ $rest == -no-future ]] || echo --future-dropout "${opt[future-dropout]}"
            ;;
    esac
}

train() { # FOLD SYSTEM
    local fold=$1 system=$2 how=() fall=()
    [[ ${opt[schedule]} == inverse_sqrt ]] || fall=(--total-num-update "${opt[updates]}")
    if [[ $system == levt* ]]; then
        how=(--criterion dual_policy --eval-metrics exact_match
            --eval-bleu-args "{\"iter_decode_max_iter\": ${opt[max-iter]}}")
    else
        how=(--criterion label_smoothed_cross_entropy --eval-exact-match
            --eval-bleu-args "{\"beam\": ${opt[valid-beam]}, \"max_len_a\": 1, \"max_len_b\": 20}")
        [[ ${opt[noise-share]} == 0 ]] ||
            how+=(--noise-kind confusions --noise-confusions "$out/fold${fold}_confusions/table.tsv"
                --noise-share "${opt[noise-share]}" --noise-seed "${opt[seed]}" --bpe chars)
    fi
    logged "${with_threads[@]}" fairseq-train "$out/fold${fold}_data/data" --user-dir "$root/lev_plugins" -s src -t tgt \
        $(architecture "$system") --share-all-embeddings "${how[@]}" "${device[@]}" \
        --dropout "${opt[dropout]}" --attention-dropout "${opt[attention-dropout]}" \
        --label-smoothing "${opt[label-smoothing]}" --optimizer adam --adam-betas '(0.9,0.98)' --lr "${opt[lr]}" \
        --lr-scheduler "${opt[schedule]}" --warmup-updates "${opt[warmup]}" "${fall[@]}" \
        --max-update "${opt[updates]}" --clip-norm 1 --max-tokens "${opt[tokens]}" --required-batch-size-multiple 1 \
        --save-dir "$out/fold${fold}_$system" \
        --best-checkpoint-metric exact_match --maximize-best-checkpoint-metric --no-epoch-checkpoints \
        --keep-best-checkpoints "${opt[average]}" --no-progress-bar --log-format simple --log-interval 100 \
        --seed "${opt[seed]}" ${opt[train-flags]}
}

decode() { # FOLD SYSTEM CHECKPOINT SUBSET FILE
    local task=(--task text_correction --beam "${opt[beam]}" --max-len-a 1 --max-len-b 20)
    [[ $2 == levt* ]] && task=(--task text_editing --draft-lang draft --iter-decode-max-iter "${opt[max-iter]}")
    captured "$5" "${with_threads[@]}" fairseq-generate "$out/fold$1_data/data" --user-dir "$root/lev_plugins" -s src -t tgt \
        "${task[@]}" --path "$3" --gen-subset "$4" --max-tokens 4000 --required-batch-size-multiple 1 --no-progress-bar \
        "${device[@]}"
}

kept_in() { # FOLDER: how many of the best checkpoints there are; fairseq gives some of equal score one name
    local found=("$1"/checkpoint.best_*.pt)
    if [[ -e ${found[0]} ]]; then echo "${#found[@]}"; else echo "${opt[average]}"; fi
}

test_system() { # FOLD SYSTEM: dev and test, by the best checkpoint and by the average of the best ones
    local folder=$out/fold$1_$2 tested=$out/fold$1_$2_test subset
    plugins average "$folder" --best "$(kept_in "$folder")" --output "$tested/average.pt"
    for subset in valid test; do
        decode "$1" "$2" "$folder/checkpoint_best.pt" "$subset" "$tested/$subset.best"
        decode "$1" "$2" "$tested/average.pt" "$subset" "$tested/$subset.average"
    done
}

do_report() {
    logged python "$here/report.py" "$out"
}

run_stages() {
    local fold system from
    for fold in ${opt[folds]//,/ }; do
        from=(fold"${fold}"_data)
        define "fold${fold}_texts" texts "$fold"
        eval "texts_of_fold${fold}_texts() { files_of $fold; }"
        define "fold${fold}_data" data "$fold"
        stage "fold${fold}_texts"
        stage "fold${fold}_data" "fold${fold}_texts"
        if [[ ${opt[noise-share]} != 0 ]]; then
            define "fold${fold}_confusions" confusions "$fold"
            stage "fold${fold}_confusions" "fold${fold}_texts"
            from+=(fold"${fold}"_confusions)
        fi
        for system in ${chosen//,/ }; do
            define "fold${fold}_$system" train "$fold" "$system"
            define "fold${fold}_${system}_test" test_system "$fold" "$system"
            stage "fold${fold}_$system" "${from[@]}"
            stage "fold${fold}_${system}_test" "fold${fold}_$system"
        done
    done
    stage_anew report
}

prepare() {
    out=${opt[out]%/} chosen=${opt[only]:-$(systems | xargs)}
    choose_device
}

main "$@"; exit # on one line: bash reads on after a command, and this file may have changed by then
