# Runs the recipe of one target for the Makefiles beside it: bash stage.sh OUT TARGET RECIPE.
# The target OUT/NAME/done stamps the folder OUT/NAME: it is made before the recipe runs, gets a log of what that prints, and
# the stamp when it has succeeded. Its folders data and bin are what the tools make that want no such folder: those of an
# attempt that failed are removed. The terminal shows when the recipe begins and ends, and the end of the log if it fails. A
# stop (Ctrl-C, kill) also ends what the recipe started.
out=$1 target=$2 recipe=${!#}
[[ $# == 3 && $target == "$out"/*/done ]] || exec bash -euo pipefail -c "$recipe"
folder=${target%/done} started=$SECONDS
name=${folder#"$out"/} log=$folder/log
mkdir -p "$folder"
exec 8>"$folder/lock" # what a killed make leaves running keeps the lock; data loaders notice after 5 seconds
if command -v flock >/dev/null && ! flock -w 6 8; then
    echo "$name is already running, in another make or since one was killed: end it first (pgrep -af $folder)" >&2
    exit 1
fi
if [[ ! -e $folder/begun ]]; then # only a training continues: anything else starts anew
    rm -rf "$folder"/{data,bin}
    : >"$log"
fi
{ cat "$out/settings" 2>/dev/null; echo "$NEW_SETTINGS"; } | awk '/./ && !($0 in seen); { seen[$0] }' >"$out/settings.$$"
mv "$out/settings.$$" "$out/settings"
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
