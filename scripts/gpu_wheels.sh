#!/usr/bin/env bash
# Fetches what bench/gpu.sh needs besides a Python with torch for CUDA, transformers and pytest, on a machine that cannot
# fetch anything itself:  bash scripts/gpu_wheels.sh FOLDER [3.12]
# That Python's own torch and NumPy are used, of whatever version they are.
set -euo pipefail
folder=${1:?give the folder of the wheels} version=${2:-3.12}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
names=(fairseq-fixed hydra-core omegaconf rapidfuzz sentencepiece sentencex py3langid sacrebleu portalocker colorama tabulate lxml
    nltk absl-py bitarray editdistance regex Cython cffi pycparser scikit-learn hypothesis sortedcontainers)
python3 -m pip download --quiet --no-deps --python-version "$version" --only-binary :all: --constraint constraints.txt \
    --dest "$folder" "${names[@]}"
# these come as sources alone, of Python without extensions
python3 -m pip wheel --quiet --no-deps --constraint constraints.txt --wheel-dir "$folder" rouge-score \
    antlr4-python3-runtime==4.9.3
du -sh "$folder"
