#!/usr/bin/env bash
# EncT5 from scratch, at a small size: a class, a pair's class, a set of labels (both ways of Algorithm 2), tags; beside
# the most frequent label and a linear model on words. `run.sh --help` lists the flags, README.md tells what comes out.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../stages.sh"
synopsis="--data DIR --out DIR [--sets sst2,mrpc,emotions,pos]"

flags() {
    cat <<'END'
data          -                          folder with cls-sst2, pair-mrpc, multilabel-goemotions and pos-ud-ewt
out           -                          folder for everything that is made; run again with the same one to go on after a stop
sets          sst2,mrpc,emotions,pos   which of them
lines         0                          the most lines of a file that are used (0: all)
vocab         8000                       sentencepiece: number of pieces
width         128                        model width
ffn           256                        feed-forward width
layers        2                          blocks of the encoder
heads         4                          attention heads, of width / heads channels
decoder-layers 1                         blocks of the decoder
dropout       0.1                        dropout
tokens        4096                       tokens in a batch
updates       3000                       updates of a training
lr            0.001                      peak learning rate; it falls to zero in a straight line
warmup        200                        updates until then
valid-every   300                        updates from one scoring of the validation set (and checkpoint) to the next
pack          no                         several examples in a row
seed          1                          random seed
gpus          auto                       GPUs to use; 0 = CPU
threads       2                          CPU: threads of a training
dry-run       no                         print the commands and do nothing
END
}

check_flags() {
    need_folders data out
    need_numbers 1 vocab width ffn layers heads decoder-layers tokens updates valid-every threads
    need_numbers 0 lines warmup
    need_gpus
    local set
    for set in ${opt[sets]//,/ }; do
        [[ -v folder_of[$set] ]] || die "--sets takes sst2, mrpc, emotions and pos, with commas between, but not '$set'"
        [[ ${opt[dry-run]} || -d ${opt[data]}/${folder_of[$set]} ]] ||
            die "--data: there is no folder ${opt[data]}/${folder_of[$set]}"
    done
    [[ ${opt[dry-run]} ]] || need_fairseq
}

# ---- the sets ----------------------------------------------------------------------------------------------------

declare -A folder_of=([sst2]=cls-sst2 [mrpc]=pair-mrpc [emotions]=multilabel-goemotions [pos]=pos-ud-ewt)
declare -A test_of=([sst2]=valid [mrpc]=dev [emotions]=dev [pos]=dev) # the published validation set is our test
declare -A kind_of=([sst2]=classification [mrpc]=classification [emotions]=multilabel [pos]=tagging)
declare -A best_of=([sst2]=accuracy [mrpc]=f1 [emotions]=micro_f1 [pos]=tag_accuracy)

layout() { # SET: flags of prepare-labels
    echo --label-kind "${kind_of[$1]}"
    case $1 in
        mrpc) echo --text-columns 2 ;;
        emotions) echo --labels "${opt[data]}/${folder_of[$1]}/labels.txt" --numbered-labels ;;
    esac
}

texts_of() { # SET
    cat "${opt[data]}/${folder_of[$1]}"/{train,"${test_of[$1]}"}.tsv
}

texts() { # SET: train, valid (held out of the training text) and test
    logged python "$here/texts.py" "${opt[data]}/${folder_of[$1]}" --test "${test_of[$1]}" --lines "${opt[lines]}" \
        --output "$out/texts_$1"
}

data() { # SET
    local from=$out/texts_$1
    logged rm -rf "$out/data_$1/data"
    logged python -m lev_plugins prepare-labels $(layout "$1") --train "$from/train.tsv" --valid "$from/valid.tsv" \
        --test "$from/test.tsv" --learn-sentencepiece "${opt[vocab]}" --dest "$out/data_$1/data"
}

train() { # SET STAGE FLAGS...
    local set=$1 name=$2 pack=()
    shift 2
    [[ ${opt[pack]} ]] && pack=(--pack)
    logged "${with_threads[@]}" fairseq-train "$out/data_$set/data" --user-dir "$root/lev_plugins" "${device[@]}" \
        --task text_labelling --label-kind "${kind_of[$set]}" --arch enct5 --criterion labelling "${pack[@]}" \
        --embed-dim "${opt[width]}" --ffn-embed-dim "${opt[ffn]}" --layers "${opt[layers]}" \
        --attention-heads "${opt[heads]}" --head-dim $((opt[width] / opt[heads])) \
        --decoder-layers "${opt[decoder-layers]}" --dropout "${opt[dropout]}" --optimizer adam \
        --adam-betas '(0.9,0.98)' --lr "${opt[lr]}" --lr-scheduler polynomial_decay --warmup-updates "${opt[warmup]}" \
        --max-update "${opt[updates]}" --total-num-update "${opt[updates]}" --clip-norm 1 --max-tokens "${opt[tokens]}" \
        --best-checkpoint-metric "${best_of[$set]}" --maximize-best-checkpoint-metric --no-epoch-checkpoints \
        --validate-interval 1000000 --validate-interval-updates "${opt[valid-every]}" \
        --save-interval-updates "${opt[valid-every]}" --keep-interval-updates 1 --save-dir "$out/$name" \
        --no-progress-bar --log-format simple --log-interval 50 --seed "${opt[seed]}" "$@"
}

score() { # STAGE MODEL
    logged "${with_threads[@]}" python "$here/score.py" "$out/$2/checkpoint_best.pt" --output "$out/$1/scores.json" \
        "${device[@]}"
}

baselines() { # SET
    logged "${with_threads[@]}" python "$here/baselines.py" "$out/texts_$1" $(layout "$1") --output "$out/baselines_$1/scores.json"
}

# stage functions of every set
for set in "${!folder_of[@]}"; do
    eval "texts_of_texts_$set() { texts_of $set; }; do_texts_$set() { texts $set; }; do_data_$set() { data $set; }"
    eval "do_train_$set() { train $set train_$set; }; do_test_$set() { score test_$set train_$set; }"
    eval "do_baselines_$set() { baselines $set; }"
done
do_train_emotions_one() { train emotions train_emotions_one --latents one; }
do_test_emotions_one() { score test_emotions_one train_emotions_one; }

do_report() {
    logged python "$here/report.py" "$out"
}

run_stages() {
    local set
    for set in ${opt[sets]//,/ }; do
        stage "texts_$set"
        stage "data_$set" "texts_$set"
        stage "train_$set" "data_$set"
        stage "test_$set" "train_$set"
        [[ $set == emotions ]] && stage train_emotions_one data_emotions
        [[ $set == emotions ]] && stage test_emotions_one train_emotions_one
        stage "baselines_$set" "texts_$set"
    done
    stage_anew report
}

prepare() {
    out=${opt[out]%/}
    choose_device
}

main "$@"; exit # on one line: bash reads on after a command, and this file may have changed by then
