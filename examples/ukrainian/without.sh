#!/usr/bin/env bash
# What is each file of a language worth? Trains without each of them in turn, all else being equal: see README.md.
set -euo pipefail
HERE=$(dirname "$0")
RUNS=${RUNS:-runs/ukrainian-without}  # folder for one folder per run
FILES=${FILES:-none alphabet.txt keyboard.txt confusions.tsv endings.txt chat.txt}  # none: leave out none
export UPDATES=${UPDATES:-500} CODE=${CODE:-uk} PEERS=
ALL=${LANGUAGE_FILES:-$HERE/../../lev_plugins/languages/$CODE}
for file in $FILES; do
    mkdir -p "$RUNS/$file/language"
    cp "$ALL"/*.t* "$RUNS/$file/language"
    rm -f "$RUNS/$file/language/$file"
    OUT=$RUNS/$file LANGUAGE_FILES=$RUNS/$file/language bash "$HERE/run.sh" >&2
    sed -nE "s/^\| this editor/| without $file/p" "$RUNS/$file/report.md"
done
