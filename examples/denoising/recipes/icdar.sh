#!/usr/bin/env bash
# ICDAR 2017 and 2019, post-OCR correction (Table 3): download and unpack the sets of the two competitions (English folders)
# into DIR first, for they cannot be fetched without asking. NOT RUN at full scale. Fetches the three models.
#
#   bash examples/denoising/recipes/icdar.sh --from DIR --out DIR [--models bert,bart,t5] [flags of run.sh]
set -euo pipefail
source "$(dirname "$0")/pretrained.sh"
read_recipe "$@"
[[ $from || -f $out/text/all.tgt ]] || { echo "icdar.sh: error: --from is missing: the folder of the sets" >&2; exit 2; }
[[ -f $out/text/all.tgt ]] || doing python "$recipes/fetch.py" icdar "$out/text" --from "$from"
reproduce --text "$out/text" --train all
