#!/usr/bin/env bash
# ALTA 2017, post-OCR correction (Table 3): the shared task gives its 6,000 texts to those who sign up for it. Write them to
# DIR/all.src (scanned) and DIR/all.tgt (corrected), a text a line. NOT RUN at full scale. Fetches the three models.
#
#   bash examples/denoising/recipes/alta.sh --text DIR --out DIR [--models bert,bart,t5] [flags of run.sh]
set -euo pipefail
source "$(dirname "$0")/pretrained.sh"
read_recipe "$@"
reproduce --train all
