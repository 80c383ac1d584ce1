# Sourced by each example's run.sh, which sets OUT, the folder of everything it writes.
once() {  # once NAME COMMAND...: run the command, or function, unless it has succeeded in this OUT before
    [ -e "$OUT/done/$1" ] && return
    echo "$1 ..." >&2; mkdir -p "$OUT/done"
    "${@:2}"; touch "$OUT/done/$1"
}
