# Sourced by run.sh: the texts that the editor is trained on, with mistakes.
words() {  # the frequency list, the text with unexpected words, and its dictionary
    python "$HERE/words.py" "$OUT/pairs/train.clean" $TEXT ${WORDS:+--words "$WORDS"} "${lexicon[@]}" \
        --language-files "$LANGUAGE_FILES" >"$OUT/list.txt"
    python "$HERE/../english/text.py" "$OUT/words" --text "$OUT/pairs/train.clean" $TEXT --copies 2 \
        --valid "$OUT/pairs/valid.clean" --frequencies "$OUT/list.txt" --listed "$LISTED" --occurrences 2 --rare-words \
        "${lexicon[@]}" --language-files "$LANGUAGE_FILES"
}
confusions() {  # of letters and of words, those of the language's files and those of the pairs
    lev-plugins confusions "$OUT"/pairs/train.{noisy,clean} --min-count 4 >"$OUT/letters.tsv"
    lev-plugins confusions "$OUT"/pairs/train.{noisy,clean} --unit word --longest 2 >"$OUT/learned.tsv"
    python "$HERE/../grammar/inflections.py" "$OUT/pairs/train.clean" --learned "$OUT/learned.tsv" \
        --language-files "$LANGUAGE_FILES" >"$OUT/confusions.tsv"
}
noise() {  # noise SEED PREFIX: PREFIX.noisy and PREFIX.draft, of PREFIX.clean with synthetic mistakes
    lev-plugins noise --kind confusions --confusions "$OUT/letters.tsv" --seed "$1" <"$2.clean" |
        lev-plugins noise --kind confusions:4,random:2,keyboard:1,swap:0.5,split:0.2,run-on:0.3 --word-rate 0.1 \
            --char-rate 0.1 --varied --confusions "$OUT/confusions.tsv" --language-files "$LANGUAGE_FILES" \
            --seed "$1" >"$2.noisy"
}
mistakes() {
    [ "$OTHER" ] || python "$HERE/messages.py" "/usr/share/locale/$CODE" --language-files "$LANGUAGE_FILES" \
        >"$OUT/messages"
    awk 'NR <= 2000' ${OTHER:-"$OUT/messages"} >"$OUT/words/other.clean"
    cp "$OUT/words/train.clean" "$OUT/pairs/synthetic.clean"
    noise "$SEED" "$OUT/pairs/synthetic"; noise $((SEED + 1)) "$OUT/words/other"
    for text in "$OUT"/pairs/*.noisy; do cp "$text" "${text%.noisy}.draft"; done  # edited is the noisy text
}
