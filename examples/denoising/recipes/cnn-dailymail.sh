#!/usr/bin/env bash
# CNN/DailyMail: 10,000 articles, made noisy in four ways (Table 4, 40 % of the words), summarised at once.
# NOT RUN at full scale. Fetches the articles and the three models.
#
#   bash examples/denoising/recipes/cnn-dailymail.sh --out DIR [--models bert,bart,t5] [flags of run.sh]
set -euo pipefail
source "$(dirname "$0")/pretrained.sh"
read_recipe "$@"
fetched cnn-dailymail
reproduce --text "$out/text" --train all --noises random,keyboard,swap,delete --word-rate 0.4 \
    --metrics bleu,rouge --only texts,noise,data,train,test
