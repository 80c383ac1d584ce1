#!/usr/bin/env bash
# W&I+LOCNESS, version 2.1: training on ABC.train, tested on ABCN.dev (the test set has no public references).
# NOT RUN here.
#
#   bash examples/grammar/recipes/wi-locness.sh M2DIR --text CLEAN.txt --test JFLEG --out DIR [flags of run.sh]
#
# M2DIR has the M2 files named below, CLEAN.txt clean English (a sentence a line), JFLEG dev.src and dev.ref0 to dev.ref3.
set -euo pipefail
source "$(dirname "$0")/paper.sh"
m2=${1:?give the folder of the M2 files}
shift
files=("$m2/ABC.train.gold.bea19.m2")
need_files "${files[@]}" "$m2/ABCN.dev.gold.bea19.m2"
reproduce --tune "${files[*]}" --test-m2 "$m2/ABCN.dev.gold.bea19.m2" --errant "$@"
