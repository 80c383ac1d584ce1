#!/usr/bin/env bash
# How many sentences that need no correction does a system alter?
#
#   bash examples/grammar/cweb.sh lev-plugins edit runs/grammar/editor
#
# runs the command on those sentences of CWEB (dev), as plain text, that both annotators have left alone; it prints the
# share of altered lines of the parts G and S as `% of lines changed`.
source "$(dirname "$0")/../once.sh"
OUT=$(mktemp -d)
[ -e data/cweb ] || python "$HERE/../data.py" cweb
for part in G S; do
    paste "data/cweb/$part.dev.src" "data/cweb/$part.dev.ref0" "data/cweb/$part.dev.ref1" | sed -E 's/ *(\t|$)/\1/g' |
        awk -F'\t' '$1 && $1 == $2 && $1 == $3 { print $1 }' >"$OUT/accepted"
    python "$HERE/tokens.py" plain <"$OUT/accepted" | "$@" >"$OUT/edited"
    python "$HERE/tokens.py" back "$OUT/accepted" <"$OUT/edited" >"$OUT/tokens"
    echo "$part, $(wc -l <"$OUT/accepted") sentences: $(lev-plugins score harm "$OUT/tokens" "$OUT/accepted")"
done
