#!/usr/bin/env bash
# From parallel text to a Levenshtein Transformer, by way of an autoregressive teacher.
# `run.sh --help` lists the flags, README.md tells what comes out.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../stages.sh"
synopsis="--text DIR --source en --target de --out DIR"

flags() {
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
tokens           4096    tokens in a batch, in the teacher's training and in distillation
step-tokens      0       tokens in an update over all GPUs, a multiple of tokens x GPUs (0: one batch a GPU)
layers           4       blocks of every encoder and decoder
width            128     model width
ffn              256     feed-forward width
heads            4       attention heads
dropout          0.3     dropout of the teacher
label-smoothing  0.1     label smoothing: of the teacher, and of LevT's token policy
teacher-updates  3200    the teacher: updates
teacher-lr       0.005   ... peak learning rate
teacher-warmup   2000    ... updates until then
teacher-flags    -       ... more flags for its fairseq-train, separated by blanks
average          5       the teacher is the average of this many last epochs (0: the epoch of lowest valid loss)
beam             5       beam of the distillation, and of the teacher's second test
shard-size       2000    sentences that the teacher decodes together; what is finished is never decoded again
levt-start       teacher LevT: begin with the weights of the teacher, or from scratch
levt-updates     12000   ... updates
levt-tokens      2048    ... tokens in a batch
levt-dropout     0.1     ... dropout
levt-lr          0.002   ... peak learning rate
levt-warmup      300     ... updates until then
levt-schedule    polynomial_decay ... what follows: polynomial_decay (to zero, in a straight line) or inverse_sqrt
levt-clip        1       ... gradients are clipped to this norm (0: not)
levt-flags       -       ... more flags for its fairseq-train, separated by blanks
valid-every      500     ... updates from one scoring of the validation set (and checkpoint) to the next
max-iter         10      ... the most iterations of decoding after the first
gamma            2       ... subtracted from the log-probability of inserting nothing (section 3.3 of the paper)
also-oracle      no      train a second LevT on the original targets
metric           bleu    what the test is scored by: bleu, or rouge
bleu-tokenize    none    sacrebleu's --tokenize: none for text that is tokenized already, 13a for other text
segment          -       command that output and reference go through before scoring, such as 'kytea -notags'
seed             1       random seed
gpus             auto    GPUs to use; 0 = CPU
threads          2       CPU: threads of a training, and decodings at a time in distillation
dry-run          no      print the commands and do nothing
END
}

check_flags() {
    local name
    need_folders text out
    need_numbers 1 shard-size threads tokens levt-tokens valid-every layers
    one_of levt-start teacher scratch
    one_of levt-schedule polynomial_decay inverse_sqrt
    need_numbers 0 average max-iter step-tokens
    need_gpus
    one_of metric bleu rouge
    [[ ${opt[dry-run]} ]] && return
    [[ -d ${opt[text]} ]] || die "--text ${opt[text]}: there is no such folder"
    need_fairseq
    local segmenter=${opt[segment]%% *}
    [[ -z $segmenter ]] || command -v "$segmenter" >/dev/null ||
        die "--segment: there is no command $segmenter: install it"
}

# ---- the stages --------------------------------------------------------------------------------------------------

texts_of_pieces() { # what no stage before has made
    cat "${opt[text]}"/{train,valid,"${opt[test]}"}."${opt[source]}" \
        "${opt[text]}"/{train,valid,"${opt[test]}"}."${opt[target]}"
}

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
    if [[ ${opt[separate]} ]]; then echo --share-decoder-input-output-embed; else echo --share-all-embeddings; fi
}

schedule() { # KIND LR WARMUP UPDATES
    echo "--lr $2 --lr-scheduler $1 --warmup-updates $3 --max-update $4"
    if [[ $1 == inverse_sqrt ]]; then echo --warmup-init-lr 1e-7; else echo "--total-num-update $4"; fi
}

train() { # DATA FOLDER TOKENS FLAGS...
    local data=$1 folder=$2 tokens=$3 model
    shift 3
    read -ra model -d '' < <(sizes) || true
    # fairseq's own models need the --user-dir too: it lets torch read their checkpoints
    logged "${with_threads[@]}" fairseq-train "$data" --user-dir "$root/lev_plugins" --source-lang "$source" \
        --target-lang "$target" "${device[@]}" --distributed-world-size $((gpus ? gpus : 1)) "${model[@]}" \
        --label-smoothing "${opt[label-smoothing]}" --optimizer adam --adam-betas '(0.9,0.98)' \
        --max-tokens "$tokens" --update-freq "$(batches_of_an_update "$tokens")" "${all_sentences[@]}" \
        --save-dir "$folder" --no-progress-bar --log-format simple --log-interval 50 --seed "${opt[seed]}" "$@"
}

batches_of_an_update() { # TOKENS
    echo $((opt[step-tokens] ? opt[step-tokens] / ($1 * (gpus ? gpus : 1)) : 1))
}

do_teacher() {
    local more rate kept=$((opt[average] > 0 ? opt[average] : 1))
    read -ra more <<<"${opt[teacher-flags]}"
    read -ra rate -d '' < <(schedule inverse_sqrt "${opt[teacher-lr]}" "${opt[teacher-warmup]}" \
        "${opt[teacher-updates]}") || true
    train "$out/binarise/data" "$out/teacher" "${opt[tokens]}" "${rate[@]}" --clip-norm 0 --dropout "${opt[dropout]}" \
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

do_distil() { # stopped, it goes on at the shards that are open
    logged env OMP_NUM_THREADS=1 python -m lev_plugins distill "$out/binarise/data" --path "$out/average/teacher.pt" \
        --dest "$out/distil/data" --beam "${opt[beam]}" --max-len-a 1.2 --max-len-b 10 --max-tokens "${opt[tokens]}" \
        --shard-size "${opt[shard-size]}" --processes $((gpus ? gpus : opt[threads])) "${device[@]}"
}

do_levt_start() {
    logged python -m lev_plugins import-levt "$out/average/teacher.pt" "$out/levt_start/levt.pt"
}

train_levt() { # DATA FOLDER
    local more rate start=() tokenized=()
    local refine="{\"iter_decode_max_iter\": ${opt[max-iter]}, \"iter_decode_eos_penalty\": ${opt[gamma]}}"
    [[ ${opt[bleu-tokenize]} == none ]] && tokenized=(--eval-tokenized-bleu)
    [[ ${opt[levt-start]} == teacher ]] && start=(--finetune-from-model "$out/levt_start/levt.pt")
    read -ra more <<<"${opt[levt-flags]}"
    read -ra rate -d '' < <(schedule "${opt[levt-schedule]}" "${opt[levt-lr]}" "${opt[levt-warmup]}" \
        "${opt[levt-updates]}") || true
    train "$1" "$2" "${opt[levt-tokens]}" "${rate[@]}" --clip-norm "${opt[levt-clip]}" --dropout "${opt[levt-dropout]}" \
        --task text_editing --arch levt --criterion dual_policy "${start[@]}" "${levt_lengths[@]}" --eval-bleu \
        --eval-bleu-args "$refine" --eval-bleu-detok space --eval-bleu-remove-bpe sentencepiece "${tokenized[@]}" \
        --best-checkpoint-metric bleu --maximize-best-checkpoint-metric --no-epoch-checkpoints \
        --save-interval-updates "${opt[valid-every]}" --validate-interval-updates "${opt[valid-every]}" \
        --validate-interval 1000000 --keep-interval-updates 1 "${more[@]}"
}

do_levt() {
    train_levt "$out/distil/data" "$out/levt"
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
    local start=()
    [[ ${opt[levt-start]} == scratch ]] || start=(levt_start)
    [[ ${opt[levt-start]} == scratch ]] || stage levt_start average
    stage levt distil "${start[@]}"
    [[ -z ${opt[also-oracle]} ]] || stage levt_oracle binarise "${start[@]}"
    stage test_greedy average
    stage test_beam average
    stage test_levt levt
    [[ -z ${opt[also-oracle]} ]] || stage test_levt_oracle levt_oracle
    stage_anew report
}

prepare() {
    source=${opt[source]} target=${opt[target]} out=${opt[out]%/}
    choose_device
    local name batch
    for name in tokens levt-tokens; do
        batch=$((opt[$name] * (gpus ? gpus : 1)))
        ((opt[step-tokens] % batch == 0)) ||
            die "--step-tokens must be a multiple of --$name times the number of GPUs, $batch, but is" \
                "${opt[step-tokens]}"
    done
    # with its default of 8, fairseq drops a last batch of any other size, of a test as well (its issue 5036)
    all_sentences=(--required-batch-size-multiple 1)
    teacher_lengths=(--max-source-positions "${opt[longest]}" --max-target-positions "${opt[longest]}")
    # a LevT also counts the <s> in front
    levt_lengths=(--max-source-positions $((opt[longest] + 1)) --max-target-positions $((opt[longest] + 1)))
}

main "$@"; exit # on one line: bash reads on after a command, and this file may have changed by then
