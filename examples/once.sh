# Sourced by each example's run.sh, which sets OUT, the folder of everything it writes.
command -v lev-plugins >/dev/null || PATH=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.venv/bin:$PATH
export PYTHONUTF8=1 PYTHONWARNINGS=ignore
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT-10000}  # idle threads give up their cores sooner: twice as fast on a busy machine

once() {  # once NAME COMMAND...: runs a command or function, unless it has succeeded in this OUT before; needs set -e
    [ -e "$OUT/done/$1" ] && return
    echo "$1 ..." >&2; mkdir -p "$OUT/done"
    "${@:2}"; touch "$OUT/done/$1"
}

progress() {  # progress UPDATES: of a log of fairseq-train, shows how far it is, on a terminal alone, and errors
    awk -v all="$1" -v terminal="$([ -t 1 ] && echo yes)" '/error:/ { print }
        terminal && match($0, /num_updates=[0-9]+/) {
            updates = substr($0, RSTART + 12, RLENGTH - 12); bar = sprintf("%*s", 40 * updates / all, "")
            gsub(/ /, "#", bar); printf "\r    [%-40s] %d of %d updates ", bar, updates, all; fflush() }
        END { if (terminal) print "" }'
}

best_threshold() {  # best_threshold EDITOR NOISY CLEAN: the --min-confidence that leaves the most words right
    lev-plugins sweep "$1" --pairs "$2" "$3" | awk 'NR > 2 { print $NF, $1 }' | LC_ALL=C sort -g | tail -n 1 | cut -d ' ' -f 2
}
