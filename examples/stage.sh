# Runs the recipe of one target for the Makefiles beside it: bash stage.sh OUT TARGET RECIPE.
# The target OUT/NAME/done stamps the folder OUT/NAME: it is made before the recipe runs, gets a log of what that prints, and
# the stamp when it has succeeded. Its folders data and bin are what the tools make that want no such folder: those of an
# attempt that failed are removed. The terminal shows when the recipe begins and ends, and the end of the log if it fails. A
# stop (Ctrl-C, kill) also ends what the recipe started. OUT/NAME/begun, the start of a training, only gets the lock.
out=$1 target=$2 recipe=${!#}
[[ $# == 3 && ($target == */done || $target == */begun) ]] || exec bash -euo pipefail -c "$recipe"
[[ $target == "$out"/*/* ]] || { echo "$target is not in OUT=$out: write OUT another way, such as $PWD/x" >&2; exit 1; }
folder=${target%/*} started=$SECONDS
name=${folder#"$out"/} log=$folder/log

# A stage runs once at a time: another make, or what a killed one left running, keeps its lock. (Without flock there is none.)
taken() { flock -E 75 "$@" 8 2>/dev/null; (($? == 75)); }
mkdir -p "$out"
exec 8>"$out/.${name//\//_}.lock"
if taken -n; then
    waiting=$(mktemp)
    taken -w 10 && still=yes || still= # the data loaders of a killed training end after 5 seconds
    [[ $target -nt $waiting ]] && made=yes || made= # by the other make
    rm "$waiting"
    if [[ $still ]]; then
        echo "$name is already running, in another make or since one was killed: end it first (pgrep -af $folder)" >&2
        exit 1
    fi
fi
# another make with other settings may have begun while this one waited, or since it began
settings=$([[ -e $out/settings ]] && echo "$out/settings" || echo /dev/null)
other=$(awk '{ sub(/^ +/, "") }
    NR == FNR { was[$1] = $0; next }
    $1 in was && was[$1] != $0 { print substr($1, 5) }' "$settings" <(echo "$NEW_SETTINGS"))
if [[ $other ]]; then
    echo "another make is filling $out with another" $other": take another OUT" >&2
    exit 1
fi
[[ ${made-} ]] && exit 0
[[ $target == */begun ]] && exec bash -euo pipefail -c "$recipe"

mkdir -p "$folder"
if [[ ! -e $folder/begun ]]; then # only a training continues: anything else starts again
    rm -rf "$folder"/{data,bin}
    : >"$log"
fi
{ cat "$settings"; echo "$NEW_SETTINGS"; } | awk '/./ && !($0 in seen); { seen[$0] }' >"$out/settings.$$" &&
    mv "$out/settings.$$" "$out/settings" || { rm -f "$out/settings.$$"; echo "$out/settings cannot be written" >&2; exit 1; }
echo "${TITLE:-$name} ..."
set -m # the recipe is a process group of its own
trap 'kill -- -$! 2>/dev/null; wait $! 2>/dev/null; echo "$name: stopped" >&2; exit 143' TERM INT HUP
bash -euo pipefail -c "$recipe" 3>&1 >>"$log" 2>&1 </dev/null &
wait $!
status=$?
while ((status > 128)) && kill -0 $! 2>/dev/null; do # it has not ended: kill -STOP only interrupted it
    sleep 1
    wait $!
    status=$?
done
if ((status)); then
    { echo "$name failed; the end of $log:" && tail -n 20 "$log" | cut -c -600; } >&2
    exit "$status"
fi
touch "$target"
echo "$name: done in $((SECONDS - started)) s"
