# Sourced by the scripts of this folder: settings, which are variables of the environment, and functions.
source "$(dirname "${BASH_SOURCE[0]}")/../once.sh"

# TEXT: folder of train, valid and test, each .SOURCE, .TARGET (and .DRAFT), one sentence per line; DRAFT: suffix of the
# drafts (empty: a weak system makes drafts, drafts.sh); TAGS: suffix of official labels that say which words of a draft
# are bad (empty: those not in the target)
TEXT=${TEXT:-data/multi30k} SOURCE=${SOURCE:-en} TARGET=${TARGET:-de} DRAFT=${DRAFT:-} TAGS=${TAGS:-}
OUT=${OUT:-runs/post-editing}  # folder of all output; other settings need another one
WEAK=${WEAK:-lstm} WEAK_WIDTH=${WEAK_WIDTH:-256}  # lstm of this width, or words: word for word, by a learned dictionary
# SYNTHETIC: PREFIX of synthetic triples to train on as well, beside which each real one comes ten times (empty: none);
# PARALLEL: PREFIX.SOURCE and PREFIX.TARGET, parallel text to train the translator on (empty: the triples)
SYNTHETIC=${SYNTHETIC:-} PARALLEL=${PARALLEL:-}
TRANSLATION=${TRANSLATION:-}  # OUT of examples/translation (same sizes): its LevT is the translator; empty: train one
VOCAB=${VOCAB:-6000} TOKENS=${TOKENS:-2048}  # number of sentencepiece's pieces; tokens in a batch
LAYERS=${LAYERS:-4} WIDTH=${WIDTH:-128} FFN=${FFN:-256} HEADS=${HEADS:-4}  # sizes of every encoder and decoder
UPDATES=${UPDATES:-4000} LR=${LR:-0.002}  # length and peak learning rate of each training that starts from nothing
FINETUNE_UPDATES=${FINETUNE_UPDATES:-3000} FINETUNE_LR=${FINETUNE_LR:-0.001}  # the same of the fine-tuning
# WARMUP: updates in which a learning rate rises to its peak, before it falls linearly to zero; VALID_EVERY: updates
# between two scorings of the validation set (and checkpoints)
WARMUP=${WARMUP:-300} VALID_EVERY=${VALID_EVERY:-500}
DISTIL=${DISTIL:-}  # yes: the LevTs learn from the autoregressive post-editor's output (underlined scores of Table 3)
# MAX_ITER: iterations of a LevT after the first; GAMMAS, KEEP_BIASES: values that tests.sh tries on valid
BLEU_TOKENIZE=${BLEU_TOKENIZE:-none}  # sacrebleu's --tokenize, none for text that is tokenised
MAX_ITER=${MAX_ITER:-9} GAMMAS=${GAMMAS:-0,1,2} KEEP_BIASES=${KEEP_BIASES--8,-6,-4,-2,-1,1,2,4}
same_settings TEXT SOURCE TARGET DRAFT TAGS TRANSLATION BLEU_TOKENIZE MAX_ITER

LANGUAGES=(-s "$SOURCE" -t "$TARGET")
FAIRSEQ+=("${LANGUAGES[@]}" --required-batch-size-multiple 1)
TRAINING=("${FAIRSEQ[@]}" --log-format simple --log-interval 50 --seed "$SEED" --optimizer adam
    --adam-betas '(0.9,0.98)' --clip-norm 1 --label-smoothing 0.1 --max-tokens "$TOKENS")
PIECES="--learn-sentencepiece $VOCAB" TRANSLATOR="$OUT/translator/checkpoint_best.pt"
if [ "$TRANSLATION" ]; then
    PIECES="--sentencepiece-model $TRANSLATION/data/sentencepiece.model --srcdict $TRANSLATION/data/dict.$SOURCE.txt"
    TRANSLATOR="$TRANSLATION/levt/checkpoint_best.pt"
fi
UNDRAFTED=
if [ ! "$DRAFT" ]; then
    UNDRAFTED=$TEXT TEXT="$OUT/drafts" DRAFT=draft  # drafts.sh makes them
fi
declare -A MODELS=([scratch]="$OUT/scratch/checkpoint_best.pt" [zero_shot]="$TRANSLATOR" [translator]="$TRANSLATOR"
    [finetuned]="$OUT/finetuned/checkpoint_best.pt")

train() {  # train NAME DATA UPDATES RATE FLAGS...
    fairseq-train "$OUT/$2" --save-dir "$OUT/$1" "${TRAINING[@]}" --task text_editing --share-all-embeddings \
        $(sizes "$LAYERS" "$WIDTH" "$FFN" "$HEADS") "${@:5}" $(linear_rate "$4" "$WARMUP" "$3") \
        $(checkpoint_every "$VALID_EVERY") --eval-bleu --eval-bleu-tokenize "$BLEU_TOKENIZE" --eval-bleu-remove-bpe sentencepiece \
        --best-checkpoint-metric bleu --maximize-best-checkpoint-metric $TRAIN_FLAGS |& tee -a "$OUT/$1.log"
}
layout() {  # layout CHECKPOINT: the flags that its weights depend on, beside the sizes
    python - "$1" <<'END'
import sys
from lev_plugins.training import checkpoints
state = checkpoints.load(sys.argv[1], mmap=True)
flags = [f"{side}_{name}" for side in ("encoder", "decoder") for name in ("normalize_before", "learned_pos")]
print(*(f"--{flag.replace('_', '-')}" for flag in flags if checkpoints.config_of(state, "model", flag)))
for flag in ("max_source_positions", "max_target_positions"):
    print(f"--{flag.replace('_', '-')}", checkpoints.config_of(state, "task", flag))
END
}
decode() {  # decode FILE FLAGS...
    fairseq-generate "$OUT/triples" "${FAIRSEQ[@]}" --max-tokens 4000 --remove-bpe sentencepiece "${@:2}" >"$1" 2>&1 ||
        { tail -n 5 "$1" >&2; exit 1; }
}
edit() {  # edit FILE EDITOR GAMMA BIAS FLAGS...: the translator is given no draft
    local draft="--draft-lang $DRAFT --keep-bias $4"
    [ $2 != translator ] || draft=
    decode "$1" --task text_editing --path "${MODELS[$2]}" $draft --print-step --iter-decode-max-iter "$MAX_ITER" \
        --iter-decode-eos-penalty "$3" "${@:5}"
}
dial() {  # dial EDITOR: gamma, and then the bias that goes best with it, by BLEU on valid
    local folder="$OUT/dials/$1" names=() gamma bias
    mkdir -p "$folder"
    for gamma in ${GAMMAS//,/ }; do
        edit "$folder/$gamma,0" $1 $gamma 0 --gen-subset valid; names+=("$gamma,0")
    done
    bleu "$folder" "${names[@]}" | best >"$folder.gamma"
    gamma=$(cut -d , -f 1 "$folder.gamma") names=("$(cat "$folder.gamma")")
    for bias in $([ $1 = translator ] || echo ${KEEP_BIASES//,/ }); do
        edit "$folder/$gamma,$bias" $1 $gamma $bias --gen-subset valid; names+=("$gamma,$bias")
    done
    bleu "$folder" "${names[@]}" | best >"$folder.best"
}
bleu() {  # bleu FOLDER NAME...: the BLEU on valid and the name of outputs; a name is gamma and bias, with a comma
    for name in "${@:2}"; do
        lev-plugins score bleu "$1/$name" "$TEXT/valid.$TARGET" --generated --tokenize "$BLEU_TOKENIZE" --json | number %s score
        echo "$name"
    done | paste -d ' ' - -
}
test_editor() {  # test_editor EDITOR NAME DIAL FLAGS...: by the gamma and bias in OUT/dials/EDITOR.DIAL
    IFS=, read -r gamma bias <"$OUT/dials/$1.$3"
    edit "$OUT/$2.out" $1 $gamma $bias --gen-subset test "${@:4}"
}
