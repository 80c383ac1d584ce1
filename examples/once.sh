# Sourced by each example's run.sh, which sets OUT, the folder of everything it writes.
command -v lev-plugins >/dev/null || PATH=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.venv/bin:$PATH
export PYTHONUTF8=1 PYTHONWARNINGS=ignore
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT-10000}  # idle threads give up their cores sooner: twice as fast on a busy machine

once() {  # once NAME COMMAND...: runs a command or function, unless it has succeeded in this OUT before; needs set -e
    [ -e "$OUT/done/$1" ] && return
    echo "$1 ..." >&2; mkdir -p "$OUT/done"
    "${@:2}"; touch "$OUT/done/$1"
}
