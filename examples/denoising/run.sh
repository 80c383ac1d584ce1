#!/usr/bin/env bash
# Noise removed, with and without gates, as in section 4.3.1 of the gated-Trans paper; free-running decoding throughout.
# `run.sh --help` lists the flags, README.md tells what comes out.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../stages.sh"
synopsis="--out DIR [--text DIR --train NAME --test NAME]"

flags() {
    cat <<'END'
out              -       folder for everything that is made; run again with the same one to go on after a stop
text             -       folder of pairs, a sentence a line; without it: docstrings of the installed packages, made noisy
train            train   pairs: name of the training files in that folder, NAME.SOURCE and NAME.TARGET
valid            -       ... of the validation files; without it a twentieth of the training pairs is held out
test             -       ... of the test files; without both, the training pairs are cut 80-10-10
source           src     suffix of the sources
target           tgt     suffix of the targets
packages         numpy,scipy,sklearn,torch  docstrings: packages that are read beside the standard library
sentences        0       keep the first N of each split (0: all)
noises           -       kinds of noise put into the sources, each a test of its own (default for docstrings: random,keyboard,swap,delete; for pairs none)
word-rate        0.3     share of the words that are made noisy
char-rate        -       slips by the characters of such a word (default: one slip)
copies           4       times that the training text is made noisy, each time otherwise
systems          none,MCG  gates to compare: none, all, MG, CG, MCG (mask, copy, generate)
gate-mix         probability  --gate-mix
copy-from        source  --copy-from
seeds            1,2,3   one training each
only             -       do only these stages: texts, noise, symspell, data, train, test (the report is always made)
vocab            1000    sentencepiece: number of pieces
layers           2       blocks of encoder and of decoder
width            128     model width
ffn              256     feed-forward width
heads            4       attention heads
dropout          0.1     dropout
tokens           1000    tokens in a batch
smoothing        0.1     label smoothing
lr               0.0015  peak learning rate
warmup           200     updates until then
schedule         falling  after that: falling to zero in a straight line, or fixed
updates          3000    updates of each training
epochs           0       stop after so many passes through the training text as well (0: never)
valid-every      750     updates from one validation (and checkpoint) to the next (0: once an epoch)
patience         10      stop after so many validations without a better one
backbone         -       begin from a pre-trained model: folder made by lev-plugins import-pretrained
lr-factor        0.1     ... learning rate of what is pre-trained, as a part of --lr
longest          0       ... cut texts after so many pieces (0: never)
more             -       more flags for fairseq-train, as one word
metrics          wrr,bleu  what is scored: wrr, bleu, rouge, exact
beam             4       beam of the test
gpus             auto    GPUs to use; 0 = CPU
threads          2       CPU: threads of a training
dry-run          no      print the commands and do nothing
END
}

declare -A gates_of=([none]="" [all]=mask,copy,generate,skip [MG]=mask,generate [CG]=copy,generate
    [MCG]=mask,copy,generate)
kinds=(texts noise symspell data train test)

check_flags() {
    local name
    need_folders out
    need_numbers 1 copies vocab layers width ffn heads tokens updates patience beam threads
    need_numbers 0 sentences warmup longest epochs valid-every
    one_of schedule falling fixed
    one_of gate-mix hidden vocabulary probability
    one_of copy-from source decoder-input
    need_gpus
    for name in ${opt[systems]//,/ }; do
        [[ -v gates_of[$name] ]] || die "--systems takes none, all, MG, CG and MCG, but has '$name'"
    done
    for name in ${opt[only]//,/ }; do
        [[ " ${kinds[*]} " == *" $name "* ]] || die "--only takes ${kinds[*]}, but has '$name'"
    done
    for name in ${opt[seeds]//,/ }; do
        [[ $name =~ ^[0-9]+$ ]] || die "--seeds takes whole numbers, but has '$name'"
    done
    [[ ${opt[systems]} && ${opt[seeds]} ]] || die "--systems and --seeds must not be empty"
    [[ ${opt[dry-run]} ]] && return
    [[ -z ${opt[text]} || -d ${opt[text]} ]] || die "--text ${opt[text]}: there is no such folder"
    [[ -z ${opt[backbone]} || -f ${opt[backbone]}/dict.txt ]] ||
        die "--backbone ${opt[backbone]}: there is no folder made by lev-plugins import-pretrained"
    need_fairseq
}

# ---- text ---------------------------------------------------------------------------------------------------------

plugins() {
    logged python -m lev_plugins "$@"
}

through() { # INPUT OUTPUT COMMAND...
    local input=$1 output=$2
    shift 2
    captured "$output" bash -c 'input=$1; shift; exec "$@" <"$input"' through "$input" "$@"
}

texts_of_texts() {
    [[ ${opt[text]} ]] || return 0
    local split side
    for split in "${opt[train]}" ${opt[valid]} ${opt[test]}; do
        for side in "${opt[source]}" "${opt[target]}"; do cat "${opt[text]}/$split.$side"; done
    done
}

do_texts() {
    local split from=()
    if [[ ${opt[text]} ]]; then
        from=(--source "${opt[source]}" --target "${opt[target]}" --train "${opt[text]%/}/${opt[train]}")
        for split in valid test; do [[ ${opt[$split]} ]] && from+=("--$split" "${opt[text]%/}/${opt[$split]}"); done
    else
        logged python "$here/../demo/corpus.py" "$out/texts/corpus" --packages "${opt[packages]}"
        for split in train valid test; do from+=("--$split" "$out/texts/corpus/$split.txt"); done
    fi
    local copies=${opt[copies]}
    [[ $noises == as-is ]] && copies=1
    logged python "$here/texts.py" "${from[@]}" --sentences "${opt[sentences]}" --copies "$copies" --output "$out/texts"
}

noise() { # KIND: train, valid and test have noise of their own
    local kind=$1 split seed=0 rates=(--word-rate "${opt[word-rate]}")
    [[ -z ${opt[char-rate]} ]] || rates+=(--char-rate "${opt[char-rate]}")
    for split in train valid test; do
        ((++seed))
        captured "$out/noise_$kind/$split.tgt" cat "$out/texts/$split.tgt"
        through "$out/texts/$split.src" "$out/noise_$kind/$split.src" \
            python -m lev_plugins noise --kind "$kind" "${rates[@]}" --seed "$seed"
    done
}

text_of() { # KIND: its folder
    if [[ $1 == as-is ]]; then echo "$out/texts"; else echo "$out/noise_$1"; fi
}

symspell() { # KIND: it reads what the report scores
    local kind=$1 from
    from=$(text_of "$kind")
    [[ -z ${opt[backbone]} ]] || from=$out/data_$kind
    through "$from/test.src" "$out/symspell_$kind/test.out" \
        python "$here/symspell.py" --words "$(text_of "$kind")/train.tgt"
}

# what the models read; test.src and test.tgt are what the report scores
data() { # KIND
    local from data=$out/data_$1 side
    from=$(text_of "$1")
    if [[ ${opt[backbone]} ]]; then
        pretrained_data "$from" "$data"
        return
    fi
    plugins prepare -s src -t tgt --train-prefix "$from/train" --valid-prefix "$from/valid" --test-prefix "$from/test" \
        --learn-sentencepiece "${opt[vocab]}" --joined-dictionary --dest "$data/bin"
    for side in src tgt; do captured "$data/test.$side" cat "$from/test.$side"; done
}

pretrained_data() { # FROM TO: a tokenizer may lose case and spaces, so references go through it as well
    local from=$1 to=$2 split side name prefixes=() names=() backbone=${opt[backbone]%/}
    for split in train valid test; do
        prefixes+=("--${split}pref" "$to/pieces/$split")
        for side in src tgt; do names+=("$split.$side"); done
    done
    plugins encode "$backbone" "${names[@]/#/$from/}" --into "$to/whole"
    logged mkdir -p "$to/pieces"
    for name in "${names[@]}"; do
        captured "$to/pieces/$name" cut -d ' ' -f "1-$((opt[longest] ? opt[longest] : 1000000))" "$to/whole/$name"
    done
    plugins encode "$backbone" "$to/pieces/test.src" "$to/pieces/test.tgt" --decode --into "$to"
    logged rm -rf "$to/bin"
    logged fairseq-preprocess -s src -t tgt "${prefixes[@]}" --joined-dictionary --srcdict "$backbone/dict.txt" \
        --destdir "$to/bin"
}

# ---- the systems --------------------------------------------------------------------------------------------------

architecture() { # flags, a line each
    local side family
    if [[ ${opt[backbone]} ]]; then
        family=$(family_of_backbone)
        echo "--arch gated_$family --backbone ${opt[backbone]%/} --optimizer scaled_adam --backbone-lr-factor ${opt[lr-factor]}"
        echo "--adam-betas (0.9,0.999) --best-checkpoint-metric loss"
        return
    fi
    echo "--arch gated_trans --share-all-embeddings --dropout ${opt[dropout]} --optimizer adam --adam-betas (0.9,0.98)"
    for side in encoder decoder; do
        echo "--$side-layers ${opt[layers]} --$side-embed-dim ${opt[width]} --$side-ffn-embed-dim ${opt[ffn]}"
        echo "--$side-attention-heads ${opt[heads]} --$side-normalize-before"
    done
    echo "--eval-wrr --eval-bleu-remove-bpe sentencepiece --best-checkpoint-metric wrr --maximize-best-checkpoint-metric"
}

family_of_backbone() {
    local config=${opt[backbone]%/}/config.json
    if [[ ! -f $config ]]; then echo FAMILY; return; fi # a dry run
    python - "$config" <<'END'
import json, sys
kind = json.load(open(sys.argv[1], encoding="utf-8"))["model_type"]
print({"mt5": "t5"}.get(kind, kind))
END
}

timing() { # flags
    if [[ ${opt[schedule]} == falling ]]; then
        echo "--lr-scheduler polynomial_decay --total-num-update ${opt[updates]}"
    else
        echo "--lr-scheduler fixed"
    fi
    echo "--warmup-updates ${opt[warmup]} --max-update ${opt[updates]} --max-epoch ${opt[epochs]}"
    if ((opt[valid-every])); then
        echo "--validate-interval 1000000 --save-interval 1000000 --validate-interval-updates ${opt[valid-every]}"
        echo "--save-interval-updates ${opt[valid-every]} --keep-interval-updates 1"
    fi
}

train() { # KIND SYSTEM SEED
    local flags=() more=()
    read -ra flags -d '' <<<"$(architecture; timing)" || true
    read -ra more <<<"${opt[more]}" || true
    logged "${with_threads[@]}" fairseq-train "$out/data_$1/bin" --user-dir "$root/lev_plugins" --task text_correction \
        -s src -t tgt --gates "${gates_of[$2]}" --gate-mix "${opt[gate-mix]}" --copy-from "${opt[copy-from]}" \
        "${flags[@]}" "${device[@]}" --criterion label_smoothed_cross_entropy --report-accuracy \
        --label-smoothing "${opt[smoothing]}" --eval-bleu-args '{"beam": 1}' --lr "${opt[lr]}" --clip-norm 1 --weight-decay 0.001 \
        --max-tokens "${opt[tokens]}" --required-batch-size-multiple 1 --patience "${opt[patience]}" \
        --no-epoch-checkpoints --no-progress-bar --log-format simple --log-interval 50 --seed "$3" --save-dir "$out/train_$1_$2_$3" "${more[@]}"
}

decode() { # KIND SYSTEM SEED
    local pieces=(--bpe sentencepiece --sentencepiece-model "$out/data_$1/bin/sentencepiece.model")
    [[ -z ${opt[backbone]} ]] || pieces=(--bpe pretrained --pretrained-tokenizer "${opt[backbone]%/}")
    captured "$out/test_$1_$2_$3/test.out" "${with_threads[@]}" fairseq-generate "$out/data_$1/bin" \
        --user-dir "$root/lev_plugins" --task text_correction -s src -t tgt --path "$out/train_$1_$2_$3/checkpoint_best.pt" \
        --gen-subset test --beam "${opt[beam]}" --max-len-a 1.5 --max-len-b 20 --max-tokens 6000 \
        --required-batch-size-multiple 1 "${pieces[@]}" --no-progress-bar "${device[@]}"
}

do_report() {
    logged python "$here/report.py" "$out" --noises "${noises//,/ }" --systems "${opt[systems]//,/ }" \
        --seeds "${opt[seeds]//,/ }" --metrics "${opt[metrics]//,/ }"
}

# ---- order ---------------------------------------------------------------------------------------------------------

asked() { # STAGE: of its kind, or of any
    [[ -z ${opt[only]} || ,${opt[only]}, == *,"${1%%_*}",* ]]
}

perhaps() { # NAME STAGE...: the stage, if asked for; names may stand for more than one run, see instance()
    local name=$1 before
    asked "$name" || return 0
    for before in "${@:2}"; do
        [[ ${opt[dry-run]} || -f $out/$before/.done ]] ||
            die "the stage $name starts from $before, which is not there: let --only have ${before%%_*} as well"
    done
    stage "$@"
}

instance() { # FUNCTION ARGUMENT...: a stage that does that; its name is theirs joined by _
    local name=$1 part
    for part in "${@:2}"; do name+=_$part; done
    [[ $1 == test ]] && set -- decode "${@:2}"
    eval "do_$name() { $(printf '%q ' "$@"); }"
    instance=$name
}

run_stages() {
    local kind system seed source
    perhaps texts
    for kind in ${noises//,/ }; do
        source=texts
        if [[ $kind != as-is ]]; then
            instance noise "$kind"
            perhaps "$instance" texts
            source=$instance
        fi
        instance data "$kind"
        perhaps "$instance" "$source"
        [[ -z ${opt[backbone]} ]] || source=$instance
        instance symspell "$kind"
        if [[ ${opt[dry-run]} || $speller ]]; then
            perhaps "$instance" "$source"
        elif asked "$instance"; then
            printf '%-20s%s\n' "$instance" "left out: pip install symspellpy"
        fi
        for system in ${opt[systems]//,/ }; do
            for seed in ${opt[seeds]//,/ }; do
                instance train "$kind" "$system" "$seed"
                perhaps "$instance" "data_$kind"
                instance test "$kind" "$system" "$seed"
                perhaps "$instance" "train_${kind}_${system}_$seed"
            done
        done
    done
    stage_anew report
}

prepare() {
    out=${opt[out]%/}
    noises=${opt[noises]}
    [[ $noises ]] || noises=$([[ ${opt[text]} ]] && echo as-is || echo random,keyboard,swap,delete)
    speller=""
    [[ ${opt[dry-run]} ]] || speller=$(python -c 'import symspellpy; print("yes")' 2>/dev/null) || true
    choose_device
}

main "$@"; exit # on one line: bash reads on after a command, and this file may have changed by then
