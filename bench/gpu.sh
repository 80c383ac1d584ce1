#!/usr/bin/env bash
# All measurements of a GPU, in eight minutes on an H100 or H200; nothing is fetched. See README.md.
#     bash bench/gpu.sh OUT
# Each step leaves OUT/STEP.json and OUT/STEP.md; one that fails says why in OUT/STEP.log, and the others go on.
set -uo pipefail
OUT=${1:?give the folder of the output}; mkdir -p "$OUT"; OUT=$(cd "$OUT" && pwd); cd "$(dirname "$0")/.." || exit 1
DEVICE=${DEVICE:-cuda}; QUICK=${QUICK-}  # cpu, and yes: only to try the script
STEPS=${STEPS:-decode,text,train,edit,profile,bfloat16,float16,tests}
LIMIT=${LIMIT:-480}  # seconds for all; a step is left out if it would begin less than 20 seconds before
WHEELS=${WHEELS-}  # folder that scripts/gpu_wheels.sh has made; empty: the packages are installed
UPDATES=${UPDATES:-60}; WORDS=${WORDS:-300}  # updates of each training, and of the editor that is timed
JOBS=${JOBS:-8}; TOKENS=${TOKENS:-8000}  # processes that make batches; tokens in one
if [ "$WHEELS" ]; then
    python3 -m venv --system-site-packages "$OUT/.venv" && PATH="$OUT/.venv/bin:$PATH" &&
        pip install --quiet --no-index --no-deps "$WHEELS"/*.whl &&
        pip install --quiet --no-index --no-deps --no-build-isolation --editable . || exit 1
fi
export PYTHONPATH=$PWD PYTHONUTF8=1
# fairseq's own models take no --bf16 on a GPU, and T5 no --fp16
FP16=--fp16 BF16=--bf16
[ "$DEVICE" = cuda ] || FP16=--cpu BF16=--cpu
DECODE=(python3 bench/decode.py --device "$DEVICE" ${QUICK:+--quick} --weights "$OUT/weights.pt")

step() {  # step NAME COMMAND...: what it prints is in OUT/NAME.log; lines of tables also in OUT/NAME.md
    [[ ,$STEPS, = *,$1,* ]] || return 0
    local begin=$SECONDS left=$((LIMIT - SECONDS))
    ((left > 20)) || { echo "$1: left out, because the time is over"; return; }
    if timeout "$left" "${@:2}" >"$OUT/$1.log" 2>&1; then
        grep '^|' "$OUT/$1.log" | tee "$OUT/$1.md"
    else
        echo "$1 has failed:"; tail -n 3 "$OUT/$1.log"
    fi
    echo "$1: $((SECONDS - begin)) s"
}
corpus() {  # docstrings with misspelt words: as pairs of words, of pieces and of bytes, and as two classes
    set -e
    python3 examples/english/corpus.py "$OUT/text" --packages "${PACKAGES-numpy,scipy,torch}" --sentences "${SENTENCES:-0}"
    for split in train valid; do
        cp "$OUT/text/$split.txt" "$OUT/text/$split.clean"
        lev-plugins noise --kind insert,delete,substitute,swap --word-rate 0.05 <"$OUT/text/$split.txt" \
            >"$OUT/text/$split.noisy"
        cp "$OUT/text/$split.noisy" "$OUT/text/$split.draft"
        awk '{ print $0 "\t" length($0) % 2 }' "$OUT/text/$split.noisy" >"$OUT/text/$split.tsv"
    done
    pairs=(-s noisy -t clean --train-prefix "$OUT/text/train" --valid-prefix "$OUT/text/valid" --joined-dictionary)
    lev-plugins prepare "${pairs[@]}" -d draft --bpe words --clean-dictionary --dest "$OUT/words"
    lev-plugins prepare "${pairs[@]}" --learn-sentencepiece "${VOCAB:-8000}" --dest "$OUT/pieces"
    lev-plugins prepare-labels --label-kind classification --train "$OUT/text/train.tsv" --valid "$OUT/text/valid.tsv" \
        --sentencepiece-model "$OUT/pieces/sentencepiece.model" --srcdict "$OUT/pieces/dict.noisy.txt" --dest "$OUT/labels"
    python3 - "$OUT/t5" ${QUICK:+16} <<'END'  # a ByT5 of the size of T5 small, untrained
import sys
from transformers import ByT5Tokenizer, T5Config, T5ForConditionalGeneration
folder, width = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 512
config = T5Config(vocab_size=384, d_model=width, d_ff=4 * width, d_kv=width // 8, decoder_start_token_id=0)
T5ForConditionalGeneration(config).save_pretrained(folder)
ByT5Tokenizer().save_pretrained(folder)
END
    lev-plugins import-pretrained "$OUT/t5" "$OUT/byt5"
    lev-plugins encode "$OUT/byt5" "$OUT"/text/{train,valid}.{noisy,clean} --into "$OUT/bytes"
    fairseq-preprocess -s noisy -t clean --trainpref "$OUT/bytes/train" --validpref "$OUT/bytes/valid" --destdir \
        "$OUT/bytes/data" --joined-dictionary --srcdict "$OUT/byt5/dict.txt" --workers $((JOBS + 1))
}
train() {  # train NAME DATA UPDATES FLAG...
    fairseq-train "$OUT/$2" --user-dir lev_plugins --max-update "$3" --optimizer adam --lr 0.0005 --log-format json \
        --log-interval $(($3 / 6)) --no-progress-bar --disable-validation --num-workers "$JOBS" --max-tokens "$TOKENS" \
        --save-dir "$OUT/$1" "${@:4}" >"$OUT/train.$1.log" 2>&1 || { tail -n 1 "$OUT/train.$1.log"; return 1; }
}
trainings() {  # of base size (512 wide, 6 + 6 blocks; the editor is smaller), in 16 bits on a GPU
    if [ "$QUICK" ]; then
        small="--encoder-layers 1 --decoder-layers 1 --encoder-embed-dim 32 --decoder-embed-dim 32 --encoder-ffn-embed-dim 64
            --decoder-ffn-embed-dim 64 --encoder-attention-heads 2 --decoder-attention-heads 2"
        one_stack="--layers 1 --embed-dim 32 --ffn-embed-dim 64 --attention-heads 2" labeller=enct5_tiny
    fi
    levt="--share-all-embeddings ${small-}" seq="--criterion label_smoothed_cross_entropy --label-smoothing 0.1"
    train fairseq-levt pieces "$UPDATES" $FP16 --task translation_lev --arch levenshtein_transformer --criterion nat_loss \
        --noise random_delete --apply-bert-init --no-save $levt
    train levt pieces "$UPDATES" $FP16 --task text_editing --arch levt --criterion dual_policy --no-save $levt
    train fairseq-transformer pieces "$UPDATES" $FP16 --task translation --arch transformer $seq --no-save $levt
    train pbd pieces "$UPDATES" $FP16 --task text_correction --arch pbd $seq --share-all-embeddings --no-save ${one_stack-}
    train enct5 labels "$UPDATES" $BF16 --task text_labelling --arch "${labeller-enct5}" --criterion labelling --pack --no-save
    train gated-t5 bytes/data "$UPDATES" $BF16 --task text_correction --arch gated_t5 --backbone "$OUT/byt5" --gates \
        mask,copy,generate $seq --no-save
    train levt-spelling words "$WORDS" $BF16 --task text_editing -s noisy -t clean --draft-lang draft --bpe words --spelling \
        --arch levt_tiny --criterion dual_policy --rollin-alpha 1 --rollin-beta 1 --max-insertions 7 --share-all-embeddings
    python3 bench/train_log.py "$OUT"/train.*.log --out "$OUT/train.json"
}
editing() {  # text with 5 % wrong words, by the editor that has just been trained
    lev-plugins export "$OUT/levt-spelling/checkpoint_last.pt" "$OUT/editor" --overwrite --bpe words --trainable &&
        python3 bench/edit.py "$OUT/editor" "$OUT/text/valid.noisy" --device "$DEVICE" --out "$OUT/edit.json" \
            ${QUICK:+--quick}
}

export -f corpus trainings editing train  # for the shells that timeout starts
export OUT DEVICE QUICK UPDATES WORDS JOBS TOKENS FP16 BF16
step decode "${DECODE[@]}" --out "$OUT/decode.json"
step text bash -c corpus
step train bash -c trainings
step edit bash -c editing
step profile "${DECODE[@]}" --profile --out "$OUT/profile.json"
for dtype in bfloat16 float16; do step $dtype "${DECODE[@]}" --dtype $dtype --out "$OUT/$dtype.json"; done
step tests python3 -m pytest -q -m gpu tests
echo "all: $SECONDS s"
