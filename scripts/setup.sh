#!/usr/bin/env bash
# scripts/setup.sh PYTHON VENV EXTRA...: a virtual environment with fairseq, torch and lev-plugins with these extras.
# Every step does nothing where its work is done, so a folder that was left half-made is completed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${1:-python3} venv=${2:-.venv} extras=("${@:3}")

fail() { echo "setup: $*" >&2; exit 1; }
step() { echo "setup: $*"; }

check_python() {
    command -v "$python" >/dev/null || fail "there is no $python: install Python 3.10 or newer, or make setup PYTHON=..."
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        fail "lev-plugins needs Python 3.10 or newer, but $python is $("$python" -V 2>&1): make setup PYTHON=python3.11"
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "$python cannot make virtual environments: install python3-venv (the name on Debian and Ubuntu)"
}

# fairseq has small C++ parts that are compiled here; nothing of ours is
check_compiler() {
    command -v "${CXX:-c++}" >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null ||
        fail "there is no C++ compiler, and fairseq needs one to install: install g++ (on Debian and Ubuntu: build-essential)"
    "$python" -c 'import os, sys, sysconfig as s; sys.exit(not os.path.exists(s.get_path("include") + "/Python.h"))' ||
        fail "$python has no header files, and fairseq needs them to install: install python3-dev"
}

make_venv() {
    if "$venv/bin/python" -m pip --version >/dev/null 2>&1; then return; fi
    if [ -d "$venv" ] && [ ! -e "$venv/pyvenv.cfg" ] && [ -n "$(ls -A "$venv")" ]; then
        fail "$venv is in the way, and is not a virtual environment: remove it, or choose another folder with make setup VENV=..."
    fi
    step "making $venv with $("$python" -V)"
    "$python" -m venv --clear "$venv"
}

pip() { "$venv/bin/python" -m pip --disable-pip-version-check "$@"; }
# pip would warn of the torchaudio that scripts/needs.py leaves out
install() { pip install --quiet --no-warn-conflicts --constraint constraints.txt "$@"; }

install_all() {
    # fairseq is built without build isolation, or pip would fetch a second torch only for that: so torch comes first.
    step "1 of 3: torch and what fairseq is built with (torch has 200 MB without CUDA, else some GB)"
    install setuptools wheel cython numpy packaging torch
    step "2 of 3: fairseq (the first time, it is compiled in some two minutes; later, pip has the result in its cache)"
    install --no-build-isolation --no-deps fairseq-fixed
    install --no-build-isolation --no-deps --editable .
    "$venv/bin/python" scripts/needs.py "${extras[@]}" >"$venv/needs.txt"
    step "3 of 3: $(wc -l <"$venv/needs.txt") packages and what they need, for the extras ${extras[*]}"
    install --requirement "$venv/needs.txt"
}

check_result() {
    "$venv/bin/python" -c 'import lev_plugins, pytest' || fail "$venv is damaged: run make clean setup to make a new one"
}

check_python
make_venv
"$venv/bin/python" -c 'import fairseq' 2>/dev/null || check_compiler
install_all
check_result
step "done: $venv"
