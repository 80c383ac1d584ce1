#!/usr/bin/env bash
# Lang-8: learners' sentences as the corpus of BEA-2019 has them; the test is the development set of W&I+LOCNESS.
# NOT RUN here.
#
#   bash examples/grammar/recipes/lang8.sh M2DIR --text CLEAN.txt --test JFLEG --out DIR [flags of run.sh]
#
# M2DIR has the M2 files named below, CLEAN.txt clean English (a sentence a line), JFLEG dev.src and dev.ref0 to dev.ref3.
set -euo pipefail
source "$(dirname "$0")/paper.sh"
m2=${1:?give the folder of the M2 files}
shift
files=("$m2/lang8.train.auto.bea19.m2")
need_files "${files[@]}" "$m2/ABCN.dev.gold.bea19.m2"
reproduce --tune "${files[*]}" --test-m2 "$m2/ABCN.dev.gold.bea19.m2" --errant "$@"
