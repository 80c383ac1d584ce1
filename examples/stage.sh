# Runs the recipe of one target for the Makefiles beside it: bash stage.sh OUT TARGET RECIPE.
# What is inside OUT gets a log beside the target; the terminal shows when it begins and ends, and the end of the log if
# it fails. A stop (Ctrl-C, kill) also ends what the recipe started.
out=$1 target=$2 recipe=${!#}
if (($# < 3)) || [[ $target != "$out"/* || $target == */begun ]]; then
    exec bash -euo pipefail -c "$recipe"
fi
name=${target#"$out"/} log=$target.log started=$SECONDS
[[ $target == */done ]] && name=${name%/done} log=${target%done}log
mkdir -p "$(dirname "$target")"
echo "${TITLE:-$name} ..."
set -m # the recipe is a process group of its own
bash -euo pipefail -c "$recipe" 3>&1 >>"$log" 2>&1 </dev/null &
trap 'kill -- -$!; wait $! 2>/dev/null; echo "$name: stopped" >&2; exit 143' TERM INT HUP
wait $!
status=$?
if ((status)); then
    { echo "$name failed; the end of $log:" && tail -n 20 "$log" | cut -c -600; } >&2
    exit "$status"
fi
echo "$name: done in $((SECONDS - started)) s"
