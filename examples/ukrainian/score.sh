# Sourced by run.sh: what an editor and its peers make of held-out pairs, and of clean text.
gold() {  # the edits of the held-out half, with kinds; a word is one that the list of words or the training text has
    { [ ! "$WORDS" ] || cat "$WORDS"; awk '$2 { print $1 }' "$OUT/list.txt"; } >"$OUT/test/words.txt"
    python "$HERE/edits.py" m2 "$OUT"/test/valid.{noisy,clean} --words "$OUT/test/words.txt" >"$OUT/test/valid.m2"
    for text in $HARM; do head -n 2000 "$text" >"$OUT/test/$(basename "$text").harm"; done
    cp "$OUT/test/valid.clean" "$OUT/test/valid.harm"
}
scores() {  # scores NAME SYSTEM...: of a system, as JSON in OUT/test/NAME
    local folder=$OUT/test/$1 metric text; mkdir -p "$folder"
    "${@:2}" <"$OUT/test/valid.noisy" >"$folder/out"
    python "$HERE/edits.py" tokens <"$folder/out" >"$folder/tokens"
    lev-plugins score m2 "$folder/tokens" "$OUT/test/valid.m2" --by-kind --json >"$folder/m2.json"
    for metric in gleu harm; do
        lev-plugins score $metric "$folder/out" "$OUT/test/valid.clean" --source "$OUT/test/valid.noisy" --json \
            >"$folder/$metric.json"
    done
    for text in "$OUT"/test/*.harm; do
        "${@:2}" <"$text" >"$folder/clean"
        lev-plugins score harm "$folder/clean" "$text" --json >"$folder/$(basename "$text").json"
    done
}
score() { once "score $1" scores "$@"; }
dashes() { sed -E 's/(^| )(-|--|–) /\1— /g'; }  # a rule that alone corrects a fifth of all: a hyphen between blanks
after_dashes() { dashes | "$@"; }
symspell() { python "$HERE/../denoising/symspell.py" --words "$OUT/pairs/train.clean" "$@"; }
hunspell_first() { python "$HERE/../english/ispell.py" "$@" hunspell -d "$HUNSPELL"; }
peers() {  # those that are installed, and each for plain words in small letters alone (careful)
    score "do nothing" cat
    score "a rule for dashes" dashes
    score "a rule for dashes, then this editor" after_dashes lev-plugins edit "$OUT/editor"
    if python -c 'import symspellpy' 2>/dev/null; then
        score "SymSpell" symspell
        score "careful SymSpell" symspell --careful
    fi
    if hunspell -d "$HUNSPELL" -a </dev/null >/dev/null 2>&1; then
        score "Hunspell" hunspell_first
        score "careful Hunspell" hunspell_first --careful
        score "a rule for dashes, then careful Hunspell" after_dashes hunspell_first --careful
    fi
}
