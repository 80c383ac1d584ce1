#!/usr/bin/env bash
# Table 2: EURLEX57K with T5 1.1 (Algorithm 2, a latent a label). NOT RUN at full scale.
# --text DIR has eurlex/{train,valid,test}.tsv: header, recitals and main body as one text, TAB, labels with commas between, and
# eurlex/labels.txt with all 4,271 labels. Documents are cut off at 512 tokens, as in the paper. Not enough memory for a
# latent a label? Add --enct5-flags "--latents one".
#
#   bash examples/labelling/recipes/eurlex57k.sh --text DIR --model t5-v1_1-base --out DIR
source "$(dirname "$0")/paper.sh"
read_arguments "$@"
backbone
tests=("$text/eurlex/test.tsv")
# 128 texts an update; not packed: the latents of a row, 4,271 a text, would look at each other's places for nothing
batch=(--max-tokens 8192 --update-freq 8 --all-gather-list-size 10000000)
longest_target=64
enct5 eurlex multilabel micro_f1 --labels "$text/eurlex/labels.txt" --longest 512 --longer cut
t5 eurlex multilabel
