# Sourced by the scripts of the examples, which set OUT, the folder of everything they write: settings that all have,
# and functions. To paste their commands: OUT=DIR HERE=examples/NAME; source examples/once.sh  # or NAME/settings.sh
[[ $- = *i* ]] || { set -euo pipefail; HERE=$(dirname "$0"); }  # an error ends a script, but not your shell
command -v lev-plugins >/dev/null || PATH=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.venv/bin:$PATH
SEED=${SEED:-1} THREADS=${THREADS:-2}  # random seed; threads on the CPU
CPU=${CPU-$(command -v nvidia-smi >/dev/null || echo --cpu)}  # --cpu; empty: all GPUs, each with a batch
TRAIN_FLAGS=${TRAIN_FLAGS-}  # more flags for fairseq-train, such as --cpu-bf16; the last of equal flags applies
export OMP_NUM_THREADS=$THREADS PYTHONUTF8=1 PYTHONWARNINGS=ignore
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT-10000}  # idle threads give up their cores sooner: faster on a busy machine
export MALLOC_TRIM_THRESHOLD_=2147483647 MALLOC_MMAP_THRESHOLD_=1073741824  # freed memory is kept for the next tensors
FAIRSEQ=(--user-dir "$(lev-plugins path)" $CPU --no-progress-bar)  # flags of fairseq-train and fairseq-generate

once() {  # once NAME COMMAND...: runs a command or function, unless it has succeeded in this OUT before
    [ ! -e "$OUT/done/$1" ] || return 0
    echo "$1 ..." >&2; mkdir -p "$OUT/done"
    (set -euo pipefail; "${@:2}")  # also in a shell of yours, which an error does not end
    local status=$?; [ $status != 0 ] || touch "$OUT/done/$1"; return $status
}
same_settings() {  # same_settings VARIABLE...: an OUT that was started with another value of one of them is refused
    local name was now record="$OUT/settings" begun
    mkdir -p "$OUT/done"; touch "$record"; begun=$(ls "$OUT/done")  # until a step is done, the values may change
    for name in "$@"; do
        now="$name=$(set -f; echo ${!name//"$OUT/"/OUT/})"
        was=$(sed -n "/^$name=/p" "$record" | tail -n 1)
        [[ $begun && $was ]] || { echo "$now" >>"$record"; continue; }
        [ "$was" = "$now" ] ||
            { echo "$OUT was started with $was, not $now: use the same value or another OUT" >&2; return 2; }
    done
}
refuse() { echo "$*" >&2; exit 2; }

number() {  # number FORMAT NAME <JSON of lev-plugins score: one of the numbers of the system
    python -c 'import json, sys; print(sys.argv[1] % json.load(sys.stdin)["system"][sys.argv[2]])' "$@"
}
best() { sort -s -rg -k 1,1 | head -n 1 | cut -d ' ' -f 2; }  # <LINES of a score and a name: the best name

# ---- flags of fairseq-train ------------------------------------------------------------------------------------------

sizes() {  # sizes LAYERS WIDTH FFN HEADS: of the encoder and the decoder
    echo "--encoder-layers $1 --encoder-embed-dim $2 --encoder-ffn-embed-dim $3 --encoder-attention-heads $4" \
        "--decoder-layers $1 --decoder-embed-dim $2 --decoder-ffn-embed-dim $3 --decoder-attention-heads $4"
}

linear_rate() {  # linear_rate PEAK WARMUP UPDATES: the learning rate rises in WARMUP updates, then falls to zero
    echo "--lr $1 --lr-scheduler polynomial_decay --warmup-updates $2 --max-update $3 --total-num-update $3"
}

checkpoint_every() {  # checkpoint_every UPDATES: the validation set is scored, and a checkpoint written
    echo "--no-epoch-checkpoints --validate-interval 1000000 --validate-interval-updates $1" \
        "--save-interval-updates $1 --keep-interval-updates 1"
}

train_editor() {  # train_editor DATA FOLDER UPDATES RATE FLAG...: a small LevT; of equal flags, the last applies
    fairseq-train "$1" --save-dir "$2" "${FAIRSEQ[@]}" --log-format simple --log-interval 50 --seed "$SEED" \
        --task text_editing --draft-lang draft --arch levt_editor --criterion dual_policy --label-smoothing 0 \
        --placeholder-label-smoothing 0 --optimizer fused_adam --adam-betas '(0.9,0.98)' --clip-norm 1 \
        --max-tokens 2500 $(linear_rate "$4" $(($3 / 20)) "$3") --validate-interval-updates $(($3 / 5)) \
        --save-interval-updates $(($3 / 5)) --keep-interval-updates 1 --no-epoch-checkpoints "${@:5}" $TRAIN_FLAGS
}

best_threshold() {  # best_threshold EDITOR NOISY CLEAN: the --min-confidence that leaves the most words right
    lev-plugins sweep "$1" --pairs "$2" "$3" | awk 'NR > 2 { print $NF, $1 }' | LC_ALL=C sort -g | tail -n 1 | cut -d ' ' -f 2
}
