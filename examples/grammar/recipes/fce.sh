#!/usr/bin/env bash
# FCE, version 2.1 as in BEA-2019: training on its train, tested on its test, M2 and ERRANT.
# NOT RUN here.
#
#   bash examples/grammar/recipes/fce.sh M2DIR --text CLEAN.txt --test JFLEG --out DIR [flags of run.sh]
#
# M2DIR has the M2 files named below, CLEAN.txt clean English (a sentence a line), JFLEG dev.src and dev.ref0 to dev.ref3.
set -euo pipefail
source "$(dirname "$0")/paper.sh"
m2=${1:?give the folder of the M2 files}
shift
files=("$m2/fce.train.gold.bea19.m2")
need_files "${files[@]}" "$m2/fce.test.gold.bea19.m2"
reproduce --tune "${files[*]}" --test-m2 "$m2/fce.test.gold.bea19.m2" --errant "$@"
