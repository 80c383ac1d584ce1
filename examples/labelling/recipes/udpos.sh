#!/usr/bin/env bash
# Table 3: UDPOS with mT5 (Algorithm 3): trained on English, tested on 33 languages. NOT RUN at full scale.
# --text DIR has udpos/{train,valid}.conllu of English, and the tests LANGUAGE.conllu in udpos/tests. The paper's score is the
# mean of tag_accuracy over the tests.
#
#   bash examples/labelling/recipes/udpos.sh --text DIR --model mt5-base --out DIR
source "$(dirname "$0")/paper.sh"
read_arguments "$@"
backbone
suffix=conllu
tests=("$text"/udpos/tests/*.conllu)
longest_target=1000
enct5 udpos tagging tag_accuracy
t5 udpos tagging
