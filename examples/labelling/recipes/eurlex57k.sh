#!/usr/bin/env bash
# Table 2: EURLEX57K with T5 1.1 (Algorithm 2, a latent a label). NOT RUN at full scale.
# --text DIR has eurlex/{train,valid}.tsv: header, recitals and main body as one text, TAB, labels with commas between, and
# eurlex/labels.txt with all 4,271 labels. Documents are cut off at 512 tokens, as in the paper. Not enough memory for a
# latent a label? Add --latents one after the --.
#
#   bash examples/labelling/recipes/eurlex57k.sh --text DIR --model t5-v1_1-base --out DIR
source "$(dirname "$0")/paper.sh"
read_arguments "$@"
backbone
enct5 eurlex multilabel micro_f1 --labels "$text/eurlex/labels.txt" --longest 512 --longer cut -- \
    --update-freq 8 --max-tokens 8192 --all-gather-list-size 10000000
t5 eurlex multilabel
