#!/usr/bin/env bash
# WMT'14 English-French: 10,000 sentences, the English made noisy in four ways (Table 4, 41 % of the words), translated
# at once. NOT RUN at full scale. Fetches the text and the three models.
#
#   bash examples/denoising/recipes/wmt14-en-fr.sh --out DIR [--models bert,bart,t5] [flags of run.sh]
set -euo pipefail
source "$(dirname "$0")/pretrained.sh"
read_recipe "$@"
fetched wmt14-en-fr
reproduce --text "$out/text" --train all --noises random,keyboard,swap,delete --word-rate 0.41 --longest 100 --tokens 3200 \
    --metrics bleu,rouge --only texts,noise,data,train,test
