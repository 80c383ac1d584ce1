#!/usr/bin/env bash
# IMDb: 50,000 film reviews, made noisy in four ways (Table 3, 29 % of the words). NOT RUN at full scale.
# Fetches the reviews and the three models.
#
#   bash examples/denoising/recipes/imdb.sh --out DIR [--models bert,bart,t5] [flags of run.sh]
set -euo pipefail
source "$(dirname "$0")/pretrained.sh"
read_recipe "$@"
fetched imdb
reproduce --text "$out/text" --train all --noises random,keyboard,swap,delete --word-rate 0.29
