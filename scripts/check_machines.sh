#!/usr/bin/env bash
# Do the tests pass on a machine that is less comfortable than the developer's? Makes a fresh clone of the last commit with an
# environment of its own, and runs the quick tests there under all of these conditions at once, or under those that are named:
#   path    the clone and its environment are in a folder with blanks and letters beyond ASCII
#   core    one core, while another job takes the other ones
#   tmp     TMPDIR is on another file system
#   locale  LC_ALL=C
#   umask   077
#   user    another user than root, if root runs this
#   bare    PATH has the environment and the commands below, but nothing else that a developer may have installed
# scripts/check_machines.sh [CONDITION ...]; TESTS=tests/unit chooses tests, PYTHON=... another Python (the user must be able to
# run it), EXTRAS="train dev" what is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
conditions=" ${*:-path core tmp locale umask user bare} "
python=${PYTHON:-/usr/bin/python3} tests=${TESTS:-tests} extras=${EXTRAS:-train dev check serve lsp pretrained}
commands="[ awk basename bash cat chmod comm cp cut date df diff dirname du echo env expr false find flock git grep gzip head id
install join kill ldconfig ln ls make mkdir mktemp mv nice nproc od paste printf ps pwd readlink realpath rm rmdir sed seq sh shuf
sleep sort split stat tail tar tee test timeout touch tr true uname uniq wc which xargs c++ cc g++ gcc as ld"
user=nobody

has() { [[ $conditions = *" $1 "* ]]; }
step() { echo "check-machines: $*"; }

scratch=$(mktemp -d -p /var/tmp) # /tmp may be in memory
jobs=()
trap 'kill "${jobs[@]}" 2>/dev/null || true; rm -rf "$scratch" ${other:+"$other"}' EXIT
chmod 755 "$scratch"
clone=$scratch/clone
if has path; then clone="$scratch/a clone déjà 見た"; fi
run=()                                # what starts the tests
environment=("HOME=$scratch/home") # and their variables
mkdir "$scratch/home"

step "cloning the last commit, and setting up $extras"
git clone --quiet . "$clone"
make -C "$clone" --no-print-directory setup "PYTHON=$python" "EXTRAS=$extras"

if has bare; then
    mkdir "$scratch/bin"
    for name in $commands; do
        if place=$(type -P "$name"); then ln -s "$place" "$scratch/bin/$name"; fi
    done
    environment+=("PATH=$scratch/bin")
fi
if has tmp; then
    other=$(mktemp -d -p "${OTHER_TMPDIR:-/dev/shm}")
    environment+=("TMPDIR=$other")
fi
if has locale; then environment+=(LC_ALL=C LANG=C); fi
if has user && [ "$(id -u)" = 0 ]; then
    chown -R "$user" "$scratch" ${other:+"$other"}
    run+=(setpriv "--reuid=$user" --clear-groups)
fi
if has umask; then umask 077; fi
if has core; then
    for core in $(seq 1 $(($(nproc) - 1))); do
        taskset -c "$core" bash -c 'while :; do :; done' &
        jobs+=($!)
    done
    run+=(taskset -c 0)
    environment+=(JOBS=1)
fi

step "the quick tests of $tests, with:$conditions"
cd "$clone"
"${run[@]}" env "${environment[@]}" make --no-print-directory test "TESTS=$tests" "PYTHON=$python"
