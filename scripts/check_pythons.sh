#!/usr/bin/env bash
# Does lev-plugins install, train and decode on each Python found here? Prints a table; fails if one of them fails.
# Installs as README tells users of pip to, not as `make setup` does: versions are pip's choice, but for torch.
# scripts/check_pythons.sh [3.10 3.10-official 3.14-editor ...]; -official: with fairseq's own 0.12.2 instead of
# fairseq-fixed; -editor: no torch and no fairseq, only edits a line with models/en
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
torch=$(grep '^torch==' constraints.txt)

# a Python that runs, of pyenv's or on PATH (pyenv's shims are there even for versions that are switched off)
find_python() {
    local candidate
    for candidate in "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python "$(command -v "python$1" || true)"; do
        if [ -x "$candidate" ] && "$candidate" -c 'import venv, ensurepip' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

# from a copy: pip builds inside the folder it installs from
copy_sources() {
    mkdir -p "$1"
    cp -r setup.py pyproject.toml MANIFEST.in LICENSE lev_plugins models "$1"
    if [ -e README.md ]; then cp README.md "$1"; fi
}

pip() { "$venv/bin/python" -m pip "$@"; } # of the row that is checked

# only fairseq without build isolation: editdistance, which has no wheel for 3.13, needs build tools of its own
install_package() {
    pip install --quiet "$torch" 'setuptools<81' wheel cython numpy packaging &&
        pip install --quiet --no-build-isolation fairseq-fixed &&
        pip install --quiet "$scratch/sources[train,fairseq,pretrained]"
}

# Newer versions of pip refuse what fairseq and omegaconf 2.0 say of their needs. The package of fairseq lacks a source of
# its C++ parts, which are compiled where torch is found: so it is built in isolation, without them. NumPy 1 is of its time.
install_beside_official() {
    pip install --quiet 'pip<24.1' &&
        pip install --quiet "$torch" 'numpy<2' fairseq==0.12.2 &&
        pip install --quiet 'numpy<2' "$scratch/sources[train,pretrained]" &&
        test "$(version_of fairseq)" = 0.12.2 && test "$(version_of fairseq-fixed)" = -
}

install_editor() { pip install --quiet "$scratch/sources" "$scratch/sources/models/en"; }

try_editor() { echo 'I recieved it.' | "$1/bin/lev-plugins" edit en | grep -q received; }

version_of() { "$venv/bin/python" -c "from importlib.metadata import version; print(version('$1'))" 2>/dev/null || echo -; }

check() { # X.Y or X.Y-official: one row of the table
    local python venv=$scratch/venv-$1 work=$scratch/work-$1 log=$scratch/log-$1 result=works
    local install=install_package fairseq=fairseq-fixed try_out=(bash "$root/scripts/try_out.sh")
    if [[ $1 = *-official ]]; then install=install_beside_official fairseq=fairseq; fi
    if [[ $1 = *-editor ]]; then install=install_editor try_out=(try_editor); fi
    python=$(find_python "${1%-*}")
    if [ -z "$python" ]; then
        echo "| $1 | - | - | not on this machine |"
        return
    fi
    mkdir -p "$work"
    "$python" -m venv "$venv"
    if ! $install >"$log" 2>&1; then
        result="does not install"
    elif ! "${try_out[@]}" "$venv" "$work" >>"$log" 2>&1; then
        result="installs, but does not work"
    fi
    echo "| $("$python" -c 'import platform; print(platform.python_version())') | $(version_of torch)" \
        "| $fairseq $(version_of "$fairseq"), omegaconf $(version_of omegaconf), NumPy $(version_of numpy) | $result |"
    if [ "$result" != works ]; then
        tail -n 20 "$log" >&2
        touch "$scratch/failed"
    fi
    rm -rf "$venv" # gigabytes each
}

if [ $# = 0 ]; then set -- 3.10 3.10-official 3.11 3.12 3.13 3.1{0,1,2,3,4,5}-editor; fi
copy_sources "$scratch/sources"
cd "$scratch" # away from the checkout, so that only what is installed can be found
echo "| Python | torch | fairseq | install, train 2 updates, decode; without torch: edit a line |"
echo "|---|---|---|---|"
for version in "$@"; do check "$version"; done
test ! -e "$scratch/failed"
