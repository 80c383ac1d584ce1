#!/usr/bin/env bash
# Table 3: UDPOS with mT5 (Algorithm 3): trained on English, tested on 33 languages. NOT RUN at full scale.
# --text DIR has udpos/{train,valid}.tsv of English (words TAB tags; CoNLL-U text becomes this by columns 2 and 4), and the
# tests LANGUAGE.conllu in udpos/tests.
#
#   bash examples/labelling/recipes/udpos.sh --text DIR --model mt5-base --out DIR
source "$(dirname "$0")/paper.sh"
read_arguments "$@"
backbone
tests=("$text"/udpos/tests/*.conllu)
enct5 udpos tagging tag_accuracy --test "${tests[@]}"
for number in "${!tests[@]}"; do # the parts are test, test1, ... in the order of the files
    echo "${tests[number]}"
    fairseq-validate "$out/udpos/data" --user-dir "$root/lev_plugins" --task text_labelling \
        --path "$out/udpos/enct5/checkpoint_best.pt" --valid-subset "test${number/#0/}" --max-tokens 16384
done
t5 udpos tagging
