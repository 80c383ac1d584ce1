#!/usr/bin/env bash
# Table 1: GLUE with T5 1.1 (Algorithm 1), beside T5 writing the labels. NOT RUN at full scale.
# --text DIR has a folder a task (mnli, qqp, qnli, sst2, cola, stsb, mrpc, rte) with train.tsv and valid.tsv: the texts, then the
# label, TABs between, no header; mnli has mismatched.tsv, too. STS-B is a regression; T5 writes its score as
# text, in steps of 0.2. Texts are cut off at 512 tokens, as in the paper.
#
#   bash examples/labelling/recipes/glue.sh --text DIR --model t5-v1_1-base --out DIR [--only mrpc,rte]
#
# Table 4, a decoder of 12 blocks, from scratch or T5's own: add one of
#   --enct5-flags "--decoder-layers 12"      --enct5-flags "--decoder-layers 12 --decoder-init backbone"
source "$(dirname "$0")/paper.sh"
read_arguments "$@"
backbone
for each in "mnli accuracy premise hypothesis" "qqp f1 question1 question2" "qnli accuracy question sentence" \
    "mrpc f1 sentence1 sentence2" "rte accuracy sentence1 sentence2"; do
    read -r name metric first second <<<"$each"
    template="$name $first: {0} $second: {1}"
    tests=()
    [[ $name == mnli ]] && tests=("$text/mnli/mismatched.tsv")
    enct5 "$name" classification "$metric" --text-columns 2 --template "$template" --longer cut
    t5 "$name" classification --text-columns 2 --template "$template"
done
for each in "sst2 accuracy" "cola matthews"; do
    read -r name metric <<<"$each"
    enct5 "$name" classification "$metric" --template "$name sentence: {0}" --longer cut
    t5 "$name" classification --template "$name sentence: {0}"
done
enct5 stsb regression spearman --text-columns 2 --template "stsb sentence1: {0} sentence2: {1}" --longer cut
t5 stsb regression --text-columns 2 --template "stsb sentence1: {0} sentence2: {1}"
