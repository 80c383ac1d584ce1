#!/usr/bin/env bash
# What is each file of a language worth? Trains without each of them in turn, all else being equal: see README.md.
set -euo pipefail
export UPDATES=${UPDATES:-500} PEERS=
files=$(dirname "$0")/../../lev_plugins/languages/uk
for file in none alphabet.txt keyboard.txt confusions.tsv endings.txt chat.txt; do  # none: leave out none
    run=runs/ukrainian-without/$file
    mkdir -p "$run/language"
    cp "$files"/*.t* "$run/language"
    rm -f "$run/language/$file"
    OUT=$run CODE=uk LANGUAGE_FILES=$run/language bash "$(dirname "$0")/run.sh" >&2
    grep '^| this editor' "$run/report.md" | sed "s/this editor/without $file/"
done
