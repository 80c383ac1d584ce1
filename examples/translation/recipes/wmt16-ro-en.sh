#!/usr/bin/env bash
# WMT'16 Romanian-English: 608,319 sentences; valid newsdev2016, test newstest2016 (1,999 each). NOT RUN at full scale.
# The text (--text DIR with train, valid, test .ro and .en) is tokenized; a joint BPE of 40,000.
#
#   bash examples/translation/recipes/wmt16-ro-en.sh --text DIR --out DIR
set -euo pipefail
source "$(dirname "$0")/paper.sh"
reproduce --source ro --target en --kind bpe --vocab 40000 --coverage 0.9999 "$@"
