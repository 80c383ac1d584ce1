# Sourced by run.sh: what an editor and its peers make of held-out pairs, and of clean text.
gold() {  # the edits of the held-out half, with kinds; a word is one that the list of words or the training text has
    { [ ! "$WORDS" ] || cat "$WORDS"; awk '$2 { print $1 }' "$OUT/list.txt"; } >"$OUT/test/words.txt"
    python "$HERE/edits.py" m2 "$OUT"/test/valid.{noisy,clean} --words "$OUT/test/words.txt" >"$OUT/test/valid.m2"
    for text in $HARM; do head -n 2000 "$text" >"$OUT/test/$(basename "$text").harm"; done
    cp "$OUT/test/valid.clean" "$OUT/test/valid.harm"
}
score() {  # score NAME SYSTEM...: the scores of a system, in OUT/test/NAME
    local folder=$OUT/test/$1; mkdir -p "$folder"
    "${@:2}" <"$OUT/test/valid.noisy" >"$folder/out"
    python "$HERE/edits.py" tokens <"$folder/out" >"$folder/tokens"
    lev-plugins score m2 "$folder/tokens" "$OUT/test/valid.m2" --by-kind >"$folder/m2"
    lev-plugins score gleu "$folder/out" "$OUT/test/valid.clean" --source "$OUT/test/valid.noisy" >"$folder/gleu"
    lev-plugins score harm "$folder/out" "$OUT/test/valid.clean" --source "$OUT/test/valid.noisy" >"$folder/words"
    for text in "$OUT"/test/*.harm; do
        "${@:2}" <"$text" >"$folder/clean"
        lev-plugins score harm "$folder/clean" "$text" >"$folder/$(basename "$text")"
    done
}
dashes() { sed -E 's/(^| )(-|--|–) /\1— /g'; }  # a rule that alone corrects a fifth of all: a hyphen between blanks
after_dashes() { dashes | lev-plugins edit "$OUT/editor"; }
careful_hunspell() { dashes | python "$HERE/../english/ispell.py" --careful hunspell -d "$HUNSPELL"; }
peers() {  # those that are installed, and each for plain words in small letters alone (careful)
    local careful has_hunspell=; if hunspell -d "$HUNSPELL" -a </dev/null >/dev/null 2>&1; then has_hunspell=yes; fi
    once "score do nothing" score "do nothing" cat
    once "score dashes" score "a rule for dashes" dashes
    once "score after dashes" score "a rule for dashes, then this editor" after_dashes
    for careful in "" --careful; do
        if python -c 'import symspellpy' 2>/dev/null; then
            once "score SymSpell $careful" score "${careful:+careful }SymSpell" \
                python "$HERE/../denoising/symspell.py" --words "$OUT/pairs/train.clean" $careful
        fi
        if [ "$has_hunspell" ]; then
            once "score Hunspell $careful" score "${careful:+careful }Hunspell" \
                python "$HERE/../english/ispell.py" $careful hunspell -d "$HUNSPELL"
        fi
    done
    if [ "$has_hunspell" ]; then
        once "score both" score "a rule for dashes, then careful Hunspell" careful_hunspell
    fi
}
number() { sed -nE "1,2s/^system .*$2 ([0-9.]+).*/\1/p" "$1"; }  # number FILE NAME
table() {  # of all systems; broken in valid and in each text of HARM, in the order of their names
    echo "| | F0.5 | GLEU | words right, % | repaired, % | right words broken, of 1,000 |"
    echo "|---|---|---|---|---|---|"
    for folder in "$OUT"/test/*/; do
        broken=$(for text in "$folder"*.harm; do number "$text" "words ="; done | paste -sd ' ')
        echo "| $(basename "$folder") | $(number "$folder/m2" "F0.5 =") | $(number "$folder/gleu" "GLEU =") |" \
            "$(number "$folder/words" "words right") | $(number "$folder/words" "repaired") | $broken |"
    done
}
