#!/usr/bin/env bash
# From parallel text to a Levenshtein Transformer, by way of an autoregressive teacher.
# `run.sh --help` lists the flags, README.md tells what comes out.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
[[ -d $root/.venv/bin ]] && PATH="$root/.venv/bin:$PATH"
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}" PYTHONWARNINGS=ignore

flags() { # name, default, meaning; the default `no` marks a flag without a value, `-` stands for nothing
    cat <<'END'
text             -       folder of the text: train, valid and test, each with .SOURCE and .TARGET, a sentence a line
test             test    name of the test files in that folder
source           en      suffix of the source files
target           de      suffix of the target files
out              -       folder for everything that is made; run again with the same one to go on after a stop
vocab            6000    sentencepiece: number of pieces
kind             unigram sentencepiece: unigram or bpe
coverage         1.0     sentencepiece: share of the characters that are pieces
separate         no      pieces and dictionaries of their own for source and target, instead of joint ones
longest          1024    the most tokens of a sentence: longer ones of the training text are not learned from
tokens           4096    tokens in a batch, in training and in distillation
step-tokens      0       tokens in an update over all GPUs, a multiple of tokens x GPUs (0: one batch a GPU)
layers           4       blocks of every encoder and decoder
width            128     model width
ffn              256     feed-forward width
heads            4       attention heads
dropout          0.3     dropout
label-smoothing  0.1     label smoothing: of the teacher, and of LevT's token policy
teacher-updates  8000    the teacher: updates
teacher-lr       0.005   ... peak learning rate
teacher-warmup   2000    ... updates until then
teacher-flags    -       ... more flags for its fairseq-train, separated by blanks
average          10      the teacher is the average of this many last epochs (0: the epoch of lowest valid loss)
beam             5       beam of the distillation, and of the teacher's second test
shards           8       pieces the distillation is cut into; one that is finished is never decoded again
levt-updates     20000   LevT: updates
levt-lr          0.005   ... peak learning rate
levt-warmup      2000    ... updates until then
levt-flags       -       ... more flags for its fairseq-train, separated by blanks
valid-every      500     ... updates from one scoring of the validation set (and checkpoint) to the next
max-iter         10      ... the most iterations of decoding after the first
gamma            0       ... subtracted from the log-probability of inserting nothing (section 3.3 of the paper)
also-oracle      no      train a second LevT on the original targets
metric           bleu    what the test is scored by: bleu, or rouge (pip install rouge-score)
bleu-tokenize    none    sacrebleu's --tokenize: none for text that is tokenized already, 13a for other text
segment          -       command that output and reference go through before scoring, such as 'kytea -notags'
seed             1       random seed
gpus             auto    GPUs to use; 0 = CPU
threads          2       CPU: threads of a training, and decodings at a time in distillation
dry-run          no      print the commands and do nothing
END
}

declare -A opt=()
declare -A switch=()

usage() {
    echo "usage: bash run.sh --text DIR --source en --target de --out DIR [flags]"
    while read -r name default meaning; do
        printf '  --%-16s %s (default: %s)\n' "$name" "$meaning" "$default"
    done < <(flags)
}

die() {
    echo "run.sh: error: $*" >&2
    exit 2
}

read_flags() {
    local name default _
    while read -r name default _; do
        [[ $default == - ]] && default=""
        [[ $default == no ]] && switch[$name]=1 && default=""
        opt[$name]=$default
    done < <(flags)
    while (($#)); do
        name=${1#--}
        [[ $1 == --help ]] && usage && exit 0
        [[ $1 == --* && -v opt[$name] ]] || die "there is no flag $1: see --help"
        if [[ -v switch[$name] ]]; then
            opt[$name]=yes
        else
            (($# > 1)) || die "$1 needs a value"
            opt[$name]=$2
            shift
        fi
        shift
    done
}

check_flags() {
    local name
    for name in text out; do
        [[ ${opt[$name]} ]] || die "--$name is missing: give a folder"
    done
    for name in shards threads tokens valid-every layers; do
        [[ ${opt[$name]} =~ ^[1-9][0-9]*$ ]] || die "--$name must be a whole number above 0, but is '${opt[$name]}'"
    done
    for name in average max-iter step-tokens; do
        [[ ${opt[$name]} =~ ^[0-9]+$ ]] || die "--$name must be a whole number, 0 or above, but is '${opt[$name]}'"
    done
    [[ ${opt[gpus]} == auto || ${opt[gpus]} =~ ^[0-9]+$ ]] ||
        die "--gpus must be auto or a number, but is '${opt[gpus]}'"
    [[ ${opt[metric]} == bleu || ${opt[metric]} == rouge ]] ||
        die "--metric must be bleu or rouge, but is '${opt[metric]}'"
    [[ ${opt[dry-run]} ]] && return
    [[ -d ${opt[text]} ]] || die "--text ${opt[text]}: there is no such folder"
    command -v fairseq-train >/dev/null ||
        die "fairseq-train is not on the PATH: run make setup, or activate the environment"
    local segmenter=${opt[segment]%% *}
    [[ -z $segmenter ]] || command -v "$segmenter" >/dev/null ||
        die "--segment: there is no command $segmenter: install it"
}

count_gpus() { # torch is only asked where there is a driver: importing it takes seconds
    if [[ ${opt[gpus]} != auto ]]; then
        echo "${opt[gpus]}"
    elif [[ -z ${opt[dry-run]} ]] && command -v nvidia-smi >/dev/null; then
        python -c 'import torch; print(torch.cuda.device_count())'
    else
        echo 0
    fi
}

# ---- running commands --------------------------------------------------------------------------------------------

attended() { # COMMAND...: what stops this shell stops the command too, and at once
    "$@" &
    local child=$!
    trap "kill $child 2>/dev/null; exit 143" TERM INT HUP
    wait "$child"
    trap 'exit 143' TERM INT HUP
}

logged() { # COMMAND...: its output goes to the end of the stage's log
    if [[ $listing ]]; then show "$@" && echo; else attended "$@" >>"$log" 2>&1; fi
}

captured() { # FILE COMMAND...: its standard output becomes FILE once it has succeeded
    local file=$1
    shift
    if [[ $listing ]]; then show "$@" && printf '> %q\n' "$file" && return; fi
    attended "$@" >"$file.part" 2>>"$log"
    mv "$file.part" "$file"
}

show() {
    printf '%q ' "$@"
}

commands_of() { # NAME: what a stage runs, whatever the machine and the place of the folders
    local listing=yes text
    text=$("do_$1")
    text=${text//"$out"/OUT}
    text=${text//"$root"/ROOT}
    sed -E 's/ --cpu//; s/ --distributed-world-size [0-9]+//' <<<"$text" |
        sed -E 's/env (CUDA_VISIBLE_DEVICES|OMP_NUM_THREADS)=[0-9]+ //'
}

input_of() { # NAME STAGE...: a line for each thing the stage starts from, which changes when that is made anew
    local name=$1 before
    shift
    if [[ $name == pieces ]]; then
        cat "${opt[text]}"/{train,valid,"${opt[test]}"}."${opt[source]}" \
            "${opt[text]}"/{train,valid,"${opt[test]}"}."${opt[target]}" | cksum | sed 's/^/# text: /'
    fi
    for before in "$@"; do
        sed -n "s/^# made/# from $before/p" "$out/$before/.done"
    done
}

updates_aside() {
    sed -E 's/ --max-update [0-9]+//'
}

stage() { # NAME STAGE...: run do_NAME in a folder of its own, once; it reads from the stages named after it
    local name=$1 started=$SECONDS wanted
    shift
    if [[ ${opt[dry-run]} ]]; then
        listing=yes
        echo "# $name"
        "do_$name"
        return
    fi
    printf '%-20s' "$name"
    wanted=$(commands_of "$name"; input_of "$name" "$@")
    local folder=$out/$name
    if [[ -e $folder/.done ]]; then
        [[ $(grep -v '^# made' "$folder/.done") == "$wanted" ]] ||
            die "$folder was made with other flags or from other files: remove it to make it anew (or, to train on" \
                "with more updates and nothing else changed, remove $folder/.done), or take another --out"
        echo "already done"
        return
    fi
    if [[ -e $folder/.started ]]; then
        [[ $(updates_aside <"$folder/.started") == "$(updates_aside <<<"$wanted")" ]] ||
            die "$folder was begun with other flags or from other files: remove it to begin anew, or take another --out"
    fi
    mkdir -p "$folder"
    echo "$wanted" >"$folder/.started"
    current=$name log=$folder/log listing=""
    "do_$name"
    current=""
    printf '%s\n# made %s\n' "$wanted" "$(date +%s.%N)" >"$folder/.done.part"
    mv "$folder/.done.part" "$folder/.done"
    echo "done in $((SECONDS - started)) s"
}

at_exit() {
    local status=$?
    [[ -z $(jobs -p) ]] || kill $(jobs -p) 2>/dev/null || true
    if [[ $current ]] && ((status == 143)); then
        echo "stopped"
    elif [[ $current ]]; then
        echo "failed"
        {
            echo "run.sh: error: stage $current failed; the end of $log:"
            tail -n 20 "$log" 2>/dev/null | cut -c -600
        } >&2
    fi
    exit "$status"
}

# ---- the stages --------------------------------------------------------------------------------------------------

do_pieces() {
    local separate=()
    [[ ${opt[separate]} ]] && separate=(--separate)
    logged python "$here/pieces.py" --text "${opt[text]}" --test "${opt[test]}" --source "$source" --target "$target" \
        --vocab "${opt[vocab]}" --kind "${opt[kind]}" --coverage "${opt[coverage]}" "${separate[@]}" \
        --longest "${opt[longest]}" --output "$out/pieces"
}

do_binarise() {
    local joined=(--joined-dictionary)
    [[ ${opt[separate]} ]] && joined=()
    logged rm -rf "$out/binarise/data"
    logged fairseq-preprocess --source-lang "$source" --target-lang "$target" --trainpref "$out/pieces/train" \
        --validpref "$out/pieces/valid" --testpref "$out/pieces/test" --destdir "$out/binarise/data" \
        "${joined[@]}" --workers "${opt[threads]}"
}

sizes() {
    local side
    for side in encoder decoder; do
        echo "--$side-layers ${opt[layers]} --$side-embed-dim ${opt[width]} --$side-ffn-embed-dim ${opt[ffn]}"
        echo "--$side-attention-heads ${opt[heads]}"
    done
    echo "--dropout ${opt[dropout]}"
    if [[ ${opt[separate]} ]]; then echo --share-decoder-input-output-embed; else echo --share-all-embeddings; fi
}

train() { # DATA FOLDER UPDATES LR WARMUP FLAGS...
    local data=$1 folder=$2 updates=$3 lr=$4 warmup=$5 model
    shift 5
    read -ra model -d '' < <(sizes) || true
    # fairseq's own models need the --user-dir too: it lets torch read their checkpoints
    logged "${with_threads[@]}" fairseq-train "$data" --user-dir "$root/lev_plugins" --source-lang "$source" \
        --target-lang "$target" "${device[@]}" --distributed-world-size $((gpus ? gpus : 1)) "${model[@]}" \
        --label-smoothing "${opt[label-smoothing]}" --optimizer adam --adam-betas '(0.9,0.98)' \
        --clip-norm 0 --lr "$lr" --lr-scheduler inverse_sqrt --warmup-updates "$warmup" --warmup-init-lr 1e-7 \
        --max-tokens "${opt[tokens]}" --update-freq "$update_freq" "${all_sentences[@]}" \
        --max-update "$updates" --save-dir "$folder" \
        --no-progress-bar --log-format simple --log-interval 50 --seed "${opt[seed]}" "$@"
}

do_teacher() {
    local more kept=$((opt[average] > 0 ? opt[average] : 1))
    read -ra more <<<"${opt[teacher-flags]}"
    train "$out/binarise/data" "$out/teacher" "${opt[teacher-updates]}" "${opt[teacher-lr]}" "${opt[teacher-warmup]}" \
        --task translation --arch transformer --criterion label_smoothed_cross_entropy --keep-last-epochs "$kept" \
        "${teacher_lengths[@]}" "${more[@]}"
}

do_average() {
    if ((opt[average])); then
        logged python -m lev_plugins average "$out/teacher" --last "${opt[average]}" --output "$out/average/teacher.pt"
    else
        logged cp "$out/teacher/checkpoint_best.pt" "$out/average/teacher.pt"
    fi
}

teach() { # FILE COMMAND-PREFIX... -- FLAGS...: decode with the teacher
    local file=$1 prefix=()
    shift
    while [[ $1 != -- ]]; do prefix+=("$1") && shift; done
    shift
    captured "$file" "${prefix[@]}" fairseq-generate "$out/binarise/data" --user-dir "$root/lev_plugins" \
        --source-lang "$source" --target-lang "$target" --task translation --path "$out/average/teacher.pt" \
        "${device[@]}" --max-len-a 1.2 --max-len-b 10 "${teacher_lengths[@]}" "${all_sentences[@]}" \
        --no-progress-bar "$@"
}

decode_shard() { # NUMBER
    local prefix=(env OMP_NUM_THREADS=1)
    ((gpus)) && prefix=(env "CUDA_VISIBLE_DEVICES=$(($1 % gpus))")
    teach "$(shard_file "$1")" "${prefix[@]}" -- --gen-subset train --beam "${opt[beam]}" \
        --max-tokens "${opt[tokens]}" --skip-invalid-size-inputs-valid-test \
        --distributed-world-size "${opt[shards]}" --distributed-rank "$1"
}

shard_file() {
    echo "$out/distil/shard-$1-of-${opt[shards]}.out"
}

do_distil() {
    local shard pid pids=() at_a_time=$((gpus ? gpus : opt[threads]))
    for ((shard = 0; shard < opt[shards]; shard++)); do
        [[ $listing ]] && decode_shard "$shard" && continue
        [[ -e $(shard_file "$shard") ]] && continue
        decode_shard "$shard" &
        pids+=($!)
        ((${#pids[@]} < at_a_time)) && continue
        wait "${pids[0]}" # under `set -e` a failure ends the script here
        pids=("${pids[@]:1}")
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
    collect_shards
}

collect_shards() {
    local shard files=()
    for ((shard = 0; shard < opt[shards]; shard++)); do files+=("$(shard_file "$shard")"); done
    logged python "$here/collect.py" --source "$out/pieces/train.$source" --reference "$out/pieces/train.$target" \
        --longest "${opt[longest]}" --output "$out/distil/train.$target" \
        --account "$out/distil/account.json" "${files[@]}"
    logged cp "$out/pieces/train.$source" "$out/distil/train.$source"
}

do_binarise_distilled() {
    logged rm -rf "$out/binarise_distilled/data"
    logged fairseq-preprocess --source-lang "$source" --target-lang "$target" --trainpref "$out/distil/train" \
        --validpref "$out/pieces/valid" --testpref "$out/pieces/test" --destdir "$out/binarise_distilled/data" \
        --srcdict "$out/binarise/data/dict.$source.txt" --tgtdict "$out/binarise/data/dict.$target.txt" \
        --workers "${opt[threads]}"
}

train_levt() { # DATA FOLDER
    local more tokenized=()
    local refine="{\"iter_decode_max_iter\": ${opt[max-iter]}, \"iter_decode_eos_penalty\": ${opt[gamma]}}"
    [[ ${opt[bleu-tokenize]} == none ]] && tokenized=(--eval-tokenized-bleu)
    read -ra more <<<"${opt[levt-flags]}"
    train "$1" "$2" "${opt[levt-updates]}" "${opt[levt-lr]}" "${opt[levt-warmup]}" \
        --task text_editing --arch levt --criterion dual_policy "${levt_lengths[@]}" --eval-bleu \
        --eval-bleu-args "$refine" --eval-bleu-detok space --eval-bleu-remove-bpe sentencepiece "${tokenized[@]}" \
        --best-checkpoint-metric bleu --maximize-best-checkpoint-metric --no-epoch-checkpoints \
        --save-interval-updates "${opt[valid-every]}" --validate-interval-updates "${opt[valid-every]}" \
        --keep-interval-updates 1 "${more[@]}"
}

do_levt() {
    train_levt "$out/binarise_distilled/data" "$out/levt"
}

do_levt_oracle() {
    train_levt "$out/binarise/data" "$out/levt_oracle"
}

# The tests run one sentence at a time in one thread, so that one run gives quality and latency.
do_test_greedy() {
    teach "$out/test_greedy/test.out" env OMP_NUM_THREADS=1 -- --gen-subset test --beam 1 --batch-size 1
}

do_test_beam() {
    teach "$out/test_beam/test.out" env OMP_NUM_THREADS=1 -- --gen-subset test --beam "${opt[beam]}" --batch-size 1
}

refine_test() { # MODEL FOLDER
    captured "$2/test.out" env OMP_NUM_THREADS=1 fairseq-generate "$out/binarise/data" --user-dir "$root/lev_plugins" \
        --source-lang "$source" --target-lang "$target" --task text_editing --path "$1/checkpoint_best.pt" \
        "${device[@]}" "${levt_lengths[@]}" "${all_sentences[@]}" --gen-subset test --beam 1 --batch-size 1 \
        --no-progress-bar --print-step \
        --iter-decode-max-iter "${opt[max-iter]}" --iter-decode-eos-penalty "${opt[gamma]}"
}

do_test_levt() {
    refine_test "$out/levt" "$out/test_levt"
}

do_test_levt_oracle() {
    refine_test "$out/levt_oracle" "$out/test_levt_oracle"
}

do_report() {
    local segment=()
    [[ ${opt[segment]} ]] && segment=(--segment "${opt[segment]}")
    logged python "$here/report.py" "$out" --reference "$out/pieces/test.reference" --metric "${opt[metric]}" \
        --bleu-tokenize "${opt[bleu-tokenize]}" --beam "${opt[beam]}" --max-iter "${opt[max-iter]}" "${segment[@]}"
}

run_stages() {
    stage pieces
    stage binarise pieces
    stage teacher binarise
    stage average teacher
    stage distil average
    stage binarise_distilled distil
    stage levt binarise_distilled
    [[ -z ${opt[also-oracle]} ]] || stage levt_oracle binarise
    stage test_greedy average
    stage test_beam average
    stage test_levt levt
    [[ -z ${opt[also-oracle]} ]] || stage test_levt_oracle levt_oracle
    [[ ${opt[dry-run]} ]] || rm -rf "$out/report" # seconds of work: always made from all that is there
    stage report
}

prepare() {
    source=${opt[source]} target=${opt[target]} out=${opt[out]%/} current="" listing=""
    gpus=$(count_gpus)
    device=(--cpu) with_threads=(env "OMP_NUM_THREADS=${opt[threads]}")
    ((gpus)) && device=() with_threads=()
    local batch=$((opt[tokens] * (gpus ? gpus : 1)))
    update_freq=1
    if ((opt[step-tokens])); then
        ((opt[step-tokens] % batch == 0)) ||
            die "--step-tokens must be a multiple of --tokens times the number of GPUs, $batch, but is" \
                "${opt[step-tokens]}"
        update_freq=$((opt[step-tokens] / batch))
    fi
    # with its default of 8, fairseq drops a last batch of any other size, of a test as well (its issue 5036)
    all_sentences=(--required-batch-size-multiple 1)
    teacher_lengths=(--max-source-positions "${opt[longest]}" --max-target-positions "${opt[longest]}")
    # a LevT also counts the <s> in front
    levt_lengths=(--max-source-positions $((opt[longest] + 1)) --max-target-positions $((opt[longest] + 1)))
}

main() {
    read_flags "$@"
    check_flags
    prepare
    trap at_exit EXIT
    trap 'exit 143' TERM INT HUP
    run_stages
    [[ ${opt[dry-run]} ]] || cat "$out/report.md"
}

main "$@"; exit # on one line: bash reads on after a command, and this file may have changed by then
