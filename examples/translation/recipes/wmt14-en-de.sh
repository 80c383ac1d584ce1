#!/usr/bin/env bash
# WMT'14 English-German: 4,500,966 sentences; valid newstest2013 (3,000), test newstest2014 (3,003). NOT RUN at full
# scale. The text (--text DIR with train, valid, test .en and .de) is tokenized; a joint BPE of 32,000.
#
#   bash examples/translation/recipes/wmt14-en-de.sh --text DIR --out DIR
set -euo pipefail
source "$(dirname "$0")/paper.sh"
reproduce --source en --target de --kind bpe --vocab 32000 --coverage 0.9999 "$@"
