#!/usr/bin/env bash
# A small corrector of English grammar that has seen nothing but clean text and the mistakes put into it, and GLEU.
# `run.sh --help` lists the flags, README.md tells what comes out.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../stages.sh"
synopsis="--test DIR --out DIR [--text FILE] [--tune 'A.m2 B.m2'] [--test-m2 FILE]"

flags() {
    cat <<'END'
test             -       folder with dev.src and dev.ref0, dev.ref1, ..., as JFLEG has them, a tokenised sentence a line
out              -       folder for everything that is made; run again with the same one to go on after a stop
text             -       clean English, a sentence a line; without it: the docstrings of the installed packages
sentences        0       take so many of them, 0 = all
packages         numpy,scipy,sklearn,torch   without --text: whose docstrings beside the standard library's
noise            confusions:2,random:2,swap-words:1   kinds of the mistakes put in, as of lev-plugins noise
word-rate        0.15    share of the words with a mistake
confusions       -       table of confusions of words; without it confusions.tsv of this folder and the inflections in the text
vocab            8000    sentencepiece: number of pieces
arch             pbd     pbd or transformer
layers           2       blocks
width            256     model width
ffn              1024    feed-forward width
heads            4       attention heads
dropout          0.1     dropout
tokens           4000    tokens in a batch
step-batches     1       batches of an update
lr               0.001   peak learning rate
warmup           1000    updates until then; after them the rate falls to zero in a straight line
updates          20000   updates of the training
valid-every      1000    updates from one scoring of the validation set (and checkpoint) to the next
train-flags      -       more flags for fairseq-train, in one word
average          5       the last N checkpoints are averaged
tune             -       M2 files of real mistakes to go on with, blanks between
tune-updates     5000    updates of that
tune-lr          0.0003  its peak learning rate
test-m2          -       an M2 file to score by M2 as well
errant           no      ... and by ERRANT, if it is installed
keep-biases      0,2,4   the validation set is decoded with each of these --keep-bias, and the best is taken, with its threshold
beam             5       beam of the test
seed             1       random seed
gpus             auto    GPUs to use; 0 = CPU
threads          2       CPU: threads of a training
dry-run          no      print the commands and do nothing
END
}

check_flags() {
    need_folders test out
    need_numbers 1 vocab layers width ffn heads tokens step-batches updates valid-every average tune-updates beam threads
    need_numbers 0 sentences warmup
    one_of arch pbd transformer
    need_gpus
    [[ ${opt[dry-run]} ]] && return
    need_files --test "${opt[test]}"/dev.{src,ref0}
    local name
    for name in text confusions test-m2; do
        [[ ! ${opt[$name]} ]] || need_files "--$name" "${opt[$name]}"
    done
    need_files --tune ${opt[tune]}
    need_fairseq
}

# ---- texts -------------------------------------------------------------------------------------------------------

plugins() {
    logged python -m lev_plugins "$@"
}

corrupt() { # SEED FILE RESULT
    # shellcheck disable=SC2016
    captured "$3" bash -c 'python -m lev_plugins noise --kind "$0" --word-rate "$1" --seed "$2" "${@:4}" <"$3"' \
        "${opt[noise]}" "${opt[word-rate]}" "$1" "$2" "${asked_table[@]/#/--confusions=}"
}

texts_of_texts() {
    cat "${opt[test]}"/dev.* "${opt[confusions]:-$here/confusions.tsv}"
    [[ ! ${opt[text]} ]] || cat "${opt[text]}"
}

do_texts() { # clean text on both sides of train, where mistakes are made while training; those of valid stay
    local clean=${opt[text]}
    [[ $clean ]] || {
        clean=$out/texts/docstrings
        logged python "$here/../demo/corpus.py" "$clean" --packages "${opt[packages]}"
    }
    logged python "$here/texts.py" split "$clean" "$out/texts" --sentences "${opt[sentences]}"
    [[ ${opt[confusions]} ]] ||
        captured "$table" python "$here/inflections.py" "$here/confusions.tsv" "$out/texts/train.clean"
    corrupt "$((opt[seed] + 1))" "$out/texts/valid.clean" "$out/texts/valid.noisy"
    logged cp "${opt[test]}/dev.src" "$out/texts/test.noisy"
    logged cp "${opt[test]}/dev.ref0" "$out/texts/test.clean"
}

do_data() {
    plugins prepare -s noisy -t clean --train-prefix "$out/texts/train" --valid-prefix "$out/texts/valid" \
        --test-prefix "$out/texts/test" --learn-sentencepiece "${opt[vocab]}" --joined-dictionary --dest "$out/data/data"
}

do_tune_data() { # the M2 files in pairs, but for the last hundredth, which validates
    local pieces=$out/data/data
    logged python "$here/texts.py" pairs "$out/tune_data/text" ${opt[tune]}
    plugins prepare -s noisy -t clean --train-prefix "$out/tune_data/text/train" --valid-prefix "$out/tune_data/text/valid" \
        --joined-dictionary --srcdict "$pieces/dict.noisy.txt" --sentencepiece-model "$pieces/sentencepiece.model" \
        --dest "$out/tune_data/data"
}

# ---- training ----------------------------------------------------------------------------------------------------

architecture() {
    local side
    if [[ ${opt[arch]} == pbd ]]; then
        echo --arch pbd --layers "${opt[layers]}" --embed-dim "${opt[width]}" --ffn-embed-dim "${opt[ffn]}" \
            --attention-heads "${opt[heads]}"
        return
    fi
    echo --arch transformer
    for side in encoder decoder; do
        echo "--$side-layers" "${opt[layers]}" "--$side-embed-dim" "${opt[width]}" "--$side-ffn-embed-dim" "${opt[ffn]}" \
            "--$side-attention-heads" "${opt[heads]}"
    done
}

train() { # DATA FOLDER LR UPDATES FLAGS...
    local data=$1 folder=$2 lr=$3 updates=$4
    shift 4
    logged "${with_threads[@]}" fairseq-train "$data" --user-dir "$root/lev_plugins" --task text_correction \
        -s noisy -t clean $(architecture) --share-all-embeddings --dropout "${opt[dropout]}" "${device[@]}" \
        --criterion label_smoothed_cross_entropy --label-smoothing 0.1 --optimizer adam --adam-betas '(0.9,0.98)' \
        --lr "$lr" --lr-scheduler polynomial_decay --warmup-updates "${opt[warmup]}" --total-num-update "$updates" \
        --max-update "$updates" --clip-norm 1 --max-tokens "${opt[tokens]}" --update-freq "${opt[step-batches]}" \
        --save-dir "$folder" \
        --validate-interval 1000000 --validate-interval-updates "${opt[valid-every]}" --no-epoch-checkpoints \
        --save-interval-updates "${opt[valid-every]}" --keep-interval-updates "${opt[average]}" \
        --no-progress-bar --log-format simple --log-interval 100 --seed "${opt[seed]}" "$@" ${opt[train-flags]}
}

average() { # FOLDER: as many of its last checkpoints as there are
    local found=("$1"/checkpoint_*_*.pt) count=${opt[average]}
    [[ ! -e ${found[0]} ]] || count=${#found[@]}
    plugins average "$1" --last "$count" --by-updates --output "$1/average.pt"
}

do_train() {
    train "$out/data/data" "$out/train" "${opt[lr]}" "${opt[updates]}" --noise-kind "${opt[noise]}" \
        --noise-word-rate "${opt[word-rate]}" "${asked_table[@]/#/--noise-confusions=}" --noise-seed "${opt[seed]}" \
        --bpe sentencepiece --sentencepiece-model "$out/data/data/sentencepiece.model"
    average "$out/train"
}

do_tune() {
    train "$out/tune_data/data" "$out/tune" "${opt[tune-lr]}" "${opt[tune-updates]}" \
        --finetune-from-model "$out/train/average.pt"
    average "$out/tune"
}

# ---- the dial, and the test --------------------------------------------------------------------------------------

do_sweep() {
    captured "$out/sweep/sweep.json" "${with_threads[@]}" python -m lev_plugins sweep "$valid" --path "$model" --json \
        --keep-bias="${opt[keep-biases]}" --post-process sentencepiece --beam "${opt[beam]}" "${device[@]}"
}

decode() { # DATA FILE FLAGS...
    local data=$1 file=$2
    shift 2
    captured "$file" "${with_threads[@]}" fairseq-generate "$data" --user-dir "$root/lev_plugins" --task text_correction \
        -s noisy -t clean --path "$model" --gen-subset test --beam "${opt[beam]}" --remove-bpe sentencepiece \
        --max-tokens 4000 --required-batch-size-multiple 1 --no-progress-bar "${device[@]}" "$@"
}

chosen() { # flags of the dial, by the sweep
    local bias=0 least=0.5
    [[ ! -f $out/sweep/sweep.json ]] || read -r bias least < <(python - "$out/sweep/sweep.json" <<'END'
import json, sys
best = json.load(open(sys.argv[1], encoding="utf-8"))["best"]
print(f"{best['keep_bias']:g} {best['min_edit_confidence']:g}")
END
    )
    echo "--keep-bias $bias --min-edit-confidence $least"
}

gleu() { # NAME
    captured "$out/test/$1.json" python -m lev_plugins score gleu "$out/test/$1.out" "${opt[test]}"/dev.ref* \
        --source "${opt[test]}/dev.src" --draft "${opt[test]}/dev.src" --generated --bootstrap 1000 --json
}

do_test() {
    decode "$out/data/data" "$out/test/plain.out"
    decode "$out/data/data" "$out/test/careful.out" $(chosen)
    gleu plain
    gleu careful
}

do_test_m2() {
    local pieces=$out/data/data errant=()
    logged python "$here/texts.py" source "${opt[test-m2]}" "$out/test_m2"
    plugins prepare -s noisy -t clean --train-prefix "$out/test_m2/test" --test-prefix "$out/test_m2/test" \
        --joined-dictionary --srcdict "$pieces/dict.noisy.txt" --sentencepiece-model "$pieces/sentencepiece.model" \
        --dest "$out/test_m2/data"
    decode "$out/test_m2/data" "$out/test_m2/careful.out" $(chosen)
    captured "$out/test_m2/m2.txt" python -m lev_plugins score m2 "$out/test_m2/careful.out" "${opt[test-m2]}" --generated
    [[ ! ${opt[errant]} ]] ||
        captured "$out/test_m2/errant.txt" python -m lev_plugins score m2 "$out/test_m2/careful.out" "${opt[test-m2]}" \
            --generated --errant
}

do_report() {
    captured "$out/report.md" python "$here/report.py" "$out"
}

run_stages() {
    local last=train
    stage texts
    stage data texts
    stage train data
    [[ ! ${opt[tune]} ]] || {
        stage tune_data data
        stage tune train tune_data
        last=tune
    }
    stage sweep "$last"
    stage test "$last" sweep
    [[ ! ${opt[test-m2]} ]] || stage test_m2 "$last" sweep
    stage_anew report
}

texts_of_tune_data() { cat ${opt[tune]}; }
texts_of_test_m2() { cat "${opt[test-m2]}"; }

prepare() {
    out=${opt[out]%/} table=${opt[confusions]:-$out/texts/confusions.tsv}
    asked_table=() # only some kinds of noise take one
    [[ ,${opt[noise]} != *,confusions* ]] || asked_table=("$table")
    model=$out/train/average.pt valid=$out/data/data
    [[ ! ${opt[tune]} ]] || model=$out/tune/average.pt valid=$out/tune_data/data
    choose_device
}

main "$@"; exit # on one line: bash reads on after a command, and this file may have changed by then
