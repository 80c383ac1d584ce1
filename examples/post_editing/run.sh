#!/usr/bin/env bash
# Post-editing as in section 4.2 of the LevT paper: who repairs a draft best, an editor or a model that writes anew?
# `run.sh --help` lists the flags, README.md tells what comes out.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../stages.sh"
synopsis="--text DIR --source en --target de [--draft mt] --out DIR"

flags() {
    cat <<'END'
text             -       folder of the text: train, valid and test, each with .SOURCE, .TARGET (and .DRAFT), a sentence a line
test             test    name of the test files in that folder
source           en      suffix of the source files
target           de      suffix of the target files
draft            -       suffix of the drafts; without it a weak system, trained on half of the text, drafts the other half
translation      -       --out of examples/translation for these languages (joint pieces): its LevT is the translator, and none is trained
out              -       folder for everything that is made; run again with the same one to go on after a stop
vocab            6000    sentencepiece: number of pieces
tokens           2048    tokens in a batch
layers           4       blocks of every encoder and decoder
width            128     model width
ffn              256     feed-forward width
heads            4       attention heads
dropout          0.1     dropout of the LevTs
ar-dropout       0.3     dropout of the autoregressive post-editor, which overfits sooner
lr               0.002   peak learning rate; it falls to zero in a straight line
warmup           300     updates until then
updates          4000    updates of each system that is trained from scratch
finetune-updates 3000    updates of the fine-tuning
finetune-lr      0.001   its peak learning rate
alpha            0.5     --rollin-alpha
beta             0.5     --rollin-beta
valid-every      500     updates from one scoring of the validation set (and checkpoint) to the next
weak-epochs      10      the weak system: epochs
weak-width       256     ... width of its one LSTM layer
beam             4       beam of the autoregressive post-editor
max-iter         9       the most iterations of an editor's decoding after the first
gammas           0,1,2   what may be subtracted from the log-probability of inserting nothing (section 3.3): each LevT takes the best on valid
keep-biases      -8,-6,-4,-2,-1,1,2,4 what a change of a draft may have to win by (--keep-bias), beside 0
seed             1       random seed
gpus             auto    GPUs to use; 0 = CPU
threads          2       CPU: threads of a training
dry-run          no      print the commands and do nothing
END
}

check_flags() {
    need_folders text out
    need_numbers 1 tokens layers updates finetune-updates valid-every weak-epochs threads beam
    need_numbers 0 max-iter warmup
    need_gpus
    [[ ${opt[dry-run]} ]] && return
    [[ -d ${opt[text]} ]] || die "--text ${opt[text]}: there is no such folder"
    [[ -z ${opt[translation]} || -f ${opt[translation]%/}/levt/.done ]] ||
        die "--translation ${opt[translation]}: there is no finished run of examples/translation"
    need_fairseq
}

# ---- text and drafts ---------------------------------------------------------------------------------------------

texts_of_texts() {
    local split suffix
    for split in train valid "${opt[test]}"; do
        for suffix in "$source" "$target" ${opt[draft]}; do cat "${opt[text]}/$split.$suffix"; done
    done
    [[ -z $ready ]] || cat "$translator"
}

do_texts() { # train, valid, test; without drafts, the first half of train is `weak`, the second `train`
    local halve=()
    [[ ${opt[draft]} ]] || halve=(--halve)
    logged python "$here/texts.py" --text "${opt[text]}" --test "${opt[test]}" --output "$out/texts" "${halve[@]}" \
        --suffixes "$source" "$target" ${opt[draft]}
}

plugins() {
    logged python -m lev_plugins "$@"
}

pieces() { # how the first text is cut
    if [[ $ready ]]; then
        echo --sentencepiece-model "$ready/pieces/pieces.$source-$target.model" \
            --srcdict "$ready/binarise/data/dict.$source.txt"
    else
        echo --learn-sentencepiece "${opt[vocab]}"
    fi
}

do_weak_data() {
    local pieces
    read -ra pieces < <(pieces)
    plugins prepare -s "$source" -t "$target" --train-prefix "$out/texts/weak" --valid-prefix "$out/texts/valid" \
        --test-prefix "$out/texts/train" "$out/texts/valid" "$out/texts/test" "${pieces[@]}" \
        --joined-dictionary --dest "$out/weak_data/data"
}

train() { # DATA FOLDER LR FLAGS...
    local data=$1 folder=$2 lr=$3
    shift 3
    logged "${with_threads[@]}" fairseq-train "$data" --user-dir "$root/lev_plugins" -s "$source" -t "$target" \
        "${device[@]}" --optimizer adam --adam-betas '(0.9,0.98)' --lr "$lr" --clip-norm 1 \
        --label-smoothing 0.1 --max-tokens "${opt[tokens]}" --required-batch-size-multiple 1 --save-dir "$folder" \
        --no-progress-bar --log-format simple --log-interval 50 --seed "${opt[seed]}" "$@"
}

do_weak() { # one LSTM layer
    local sizes=() side
    for side in encoder decoder; do
        sizes+=("--$side-layers" 1 "--$side-embed-dim" "${opt[weak-width]}" "--$side-hidden-size" "${opt[weak-width]}")
    done
    train "$out/weak_data/data" "$out/weak" 0.002 --task translation --arch lstm "${sizes[@]}" --dropout 0.3 \
        --decoder-out-embed-dim "${opt[weak-width]}" --share-all-embeddings --criterion label_smoothed_cross_entropy \
        --lr-scheduler inverse_sqrt --warmup-updates 200 --max-epoch "${opt[weak-epochs]}" --no-epoch-checkpoints
}

do_drafts() { # what the weak system makes of the other half, of valid and of test
    plugins distill "$out/weak_data/data" --path "$out/weak/checkpoint_best.pt" --split test --beam 1 \
        --text "$out/drafts/all.draft" --post-process sentencepiece --max-tokens 8000 "${device[@]}"
    logged python "$here/texts.py" --text "$out/texts" --suffixes "$source" "$target" --drafts "$out/drafts/all.draft" \
        --output "$out/drafts"
}

do_triples() {
    local from=$out/texts pieces
    read -ra pieces < <(pieces)
    [[ ${opt[draft]} ]] || {
        from=$out/drafts
        pieces=(--sentencepiece-model "$out/weak_data/data/sentencepiece.model"
            --srcdict "$out/weak_data/data/dict.$source.txt")
    }
    plugins prepare -s "$source" -t "$target" -d "$draft" --train-prefix "$from/train" --valid-prefix "$from/valid" \
        --test-prefix "$from/test" --joined-dictionary "${pieces[@]}" --dest "$out/triples/data"
}

# ---- the systems -------------------------------------------------------------------------------------------------

shape() { # flags, a line each
    local side
    for side in encoder decoder; do
        echo "--$side-layers ${opt[layers]} --$side-embed-dim ${opt[width]} --$side-ffn-embed-dim ${opt[ffn]}"
        echo "--$side-attention-heads ${opt[heads]} --$side-normalize-before"
    done
}

shape_of_translator() {
    if [[ $ready && ! ${opt[dry-run]} ]]; then python "$here/shape.py" "$translator"; else shape; fi
}

train_editor() { # FOLDER UPDATES LR SHAPE FLAGS...
    local folder=$1 updates=$2 lr=$3 shape
    read -ra shape -d '' <<<"$4" || true
    shift 4
    train "$out/triples/data" "$folder" "$lr" --task text_editing "${shape[@]}" --share-all-embeddings \
        --lr-scheduler polynomial_decay --warmup-updates "${opt[warmup]}" \
        --max-update "$updates" --total-num-update "$updates" \
        --eval-bleu --eval-bleu-remove-bpe sentencepiece --eval-tokenized-bleu --best-checkpoint-metric bleu \
        --maximize-best-checkpoint-metric --no-epoch-checkpoints --validate-interval 1000000 \
        --validate-interval-updates "${opt[valid-every]}" --save-interval-updates "${opt[valid-every]}" \
        --keep-interval-updates 1 "$@"
}

levt() {
    echo --arch levt --criterion dual_policy --dropout "${opt[dropout]}" --rollin-alpha "${opt[alpha]}" --rollin-beta "${opt[beta]}"
}

do_autoregressive() {
    train_editor "$out/autoregressive" "${opt[updates]}" "${opt[lr]}" "$(shape)" --draft-lang "$draft" \
        --arch post_edit_transformer --dropout "${opt[ar-dropout]}" --criterion label_smoothed_cross_entropy --eval-bleu-args '{"beam": 1}'
}

do_scratch() {
    train_editor "$out/scratch" "${opt[updates]}" "${opt[lr]}" "$(shape)" --draft-lang "$draft" $(levt)
}

do_translator() { # sees no draft
    train_editor "$out/translator" "${opt[updates]}" "${opt[lr]}" "$(shape)" $(levt)
}

do_finetuned() {
    train_editor "$out/finetuned" "${opt[finetune-updates]}" "${opt[finetune-lr]}" "$(shape_of_translator)" \
        --draft-lang "$draft" $(levt) --finetune-from-model "$translator"
}

decode() { # FILE CHECKPOINT SPLIT FLAGS...
    local file=$1 checkpoint=$2 split=$3
    shift 3
    captured "$file" "${with_threads[@]}" fairseq-generate "$out/triples/data" --user-dir "$root/lev_plugins" \
        -s "$source" -t "$target" --path "$checkpoint" --gen-subset "$split" --max-tokens 4000 \
        --required-batch-size-multiple 1 --remove-bpe sentencepiece --no-progress-bar "${device[@]}" "$@"
}

best() { # TRAINING
    echo "$out/$1/checkpoint_best.pt"
}

do_test_autoregressive() {
    decode "$out/test_autoregressive/test.out" "$(best autoregressive)" test --task text_editing --draft-lang "$draft" \
        --beam "${opt[beam]}"
}

do_test_teacher() { # the autoregressive translator that the LevT of --translation learned from, which sees no draft
    decode "$out/test_teacher/test.out" "$ready/average/teacher.pt" test --task translation --beam "${opt[beam]}" \
        --max-len-a 1.2 --max-len-b 10
}

refine() { # FILE SYSTEM SPLIT GAMMA KEEP_BIAS FLAGS...
    local file=$1 system=$2 split=$3 gamma=$4 checkpoint drafts=(--draft-lang "$draft" --keep-bias "$5")
    shift 5
    checkpoint=$(best "$system")
    [[ $system != translator ]] || drafts=()
    [[ $system != translator && $system != zero_shot ]] || checkpoint=$translator
    decode "$file" "$checkpoint" "$split" --task text_editing "${drafts[@]}" --print-step \
        --iter-decode-max-iter "${opt[max-iter]}" --iter-decode-eos-penalty "$gamma" "$@"
}

choose_dials() { # SYSTEM: the gamma of highest BLEU on valid, then the bias that goes best with it
    local gamma bias gammas=() biases=() dials=$out/dials_$1
    for gamma in ${opt[gammas]//,/ }; do
        refine "$dials/$gamma,0.out" "$1" valid "$gamma" 0
        gammas+=("$dials/$gamma,0.out")
    done
    best_of "$dials/gamma" "${gammas[@]}"
    gamma=GAMMA
    [[ $listing ]] || gamma=$(cut -d, -f1 "$dials/gamma")
    biases=("$dials/$gamma,0.out")
    [[ $1 == translator ]] || for bias in ${opt[keep-biases]//,/ }; do # the translator has no draft to keep
        refine "$dials/$gamma,$bias.out" "$1" valid "$gamma" "$bias"
        biases+=("$dials/$gamma,$bias.out")
    done
    best_of "$dials/best" "${biases[@]}"
}

best_of() { # FILE LOGS...
    captured "$1" python "$here/best.py" "${@:2}" --reference "$(drafted)/valid.$target"
}

refine_test() { # TEST SYSTEM FLAGS...
    local dials=GAMMA,BIAS test=$1 system=$2
    shift 2
    [[ ${opt[dry-run]} ]] || dials=$(cat "$out/dials_$system/best")
    refine "$out/$test/test.out" "$system" test "${dials%,*}" "${dials#*,}" "$@"
}

do_dials_translator() { choose_dials translator; }
do_dials_zero_shot() { choose_dials zero_shot; }
do_dials_scratch() { choose_dials scratch; }
do_dials_finetuned() { choose_dials finetuned; }

do_test_scratch() { refine_test test_scratch scratch; }
do_test_zero_shot() { refine_test test_zero_shot zero_shot; }
do_test_finetuned() { refine_test test_finetuned finetuned; }

# The oracle's hand on the wheel (Figure 5): the translator without drafts, the fine-tuned editor with them
do_test_translator() { refine_test test_translator translator; }
do_test_translator_delete() { refine_test test_translator_delete translator --oracle delete; }
do_test_translator_both() { refine_test test_translator_both translator --oracle delete+placeholder; }
do_test_finetuned_delete() { refine_test test_finetuned_delete finetuned --oracle delete; }
do_test_finetuned_both() { refine_test test_finetuned_both finetuned --oracle delete+placeholder; }

drafted() { # the folder of the texts with drafts
    if [[ ${opt[draft]} ]]; then echo "$out/texts"; else echo "$out/drafts"; fi
}

do_report() {
    logged python "$here/report.py" "$out" --draft "$(drafted)/test.$draft" --reference "$(drafted)/test.$target"
}

run_stages() {
    local name drafted=texts
    stage texts
    [[ ${opt[draft]} ]] || {
        drafted=drafts
        stage weak_data texts
        stage weak weak_data
        stage drafts weak texts
    }
    stage triples "$drafted"
    local made=translator
    if [[ $ready ]]; then made=triples; else stage translator triples; fi
    for name in autoregressive scratch; do stage "$name" triples; done
    stage finetuned "$made"
    stage dials_translator "$made"
    stage dials_zero_shot "$made"
    stage dials_scratch scratch
    stage dials_finetuned finetuned
    stage test_autoregressive autoregressive
    for name in scratch zero_shot finetuned translator; do stage "test_$name" "dials_$name"; done
    for name in translator finetuned; do
        stage "test_${name}_delete" "dials_$name"
        stage "test_${name}_both" "dials_$name"
    done
    [[ -z $ready ]] || stage test_teacher triples
    stage_anew report
}

prepare() {
    source=${opt[source]} target=${opt[target]} draft=${opt[draft]:-draft} out=${opt[out]%/}
    ready=${opt[translation]%/}
    translator=${ready:+$ready/levt}
    translator=${translator:-$out/translator}/checkpoint_best.pt
    choose_device
}

main "$@"; exit # on one line: bash reads on after a command, and this file may have changed by then
