#!/usr/bin/env bash
# NUCLE, release 3.3, and the test of CoNLL-14 (official-2014.combined.m2), scored by M2.
# NOT RUN here.
#
#   bash examples/grammar/recipes/nucle.sh M2DIR --text CLEAN.txt --test JFLEG --out DIR [flags of run.sh]
#
# M2DIR has the M2 files named below, CLEAN.txt clean English (a sentence a line), JFLEG dev.src and dev.ref0 to dev.ref3.
set -euo pipefail
source "$(dirname "$0")/paper.sh"
m2=${1:?give the folder of the M2 files}
shift
files=("$m2/nucle.train.gold.bea19.m2")
need_files "${files[@]}" "$m2/official-2014.combined.m2"
reproduce --tune "${files[*]}" --test-m2 "$m2/official-2014.combined.m2" "$@"
