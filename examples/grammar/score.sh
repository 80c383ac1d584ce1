# Sourced by run.sh and pbd.sh: the test sets as plain text, and the scores of what a system makes of them.
# TEST: folder with dev.src and dev.ref0, dev.ref1, ..., tokenised, as in JFLEG; M2_FLAGS: of lev-plugins score m2
TEST=${TEST:-data/jfleg} M2_FLAGS=${M2_FLAGS---by-kind}  # or --errant
test_sets() {  # JFLEG in TEST, and the M2 files TEST_M2
    [[ $TEST != data/jfleg || -e $TEST ]] || python "$HERE/../data.py" jfleg
    mkdir -p "$OUT/test/jfleg"
    cp "$TEST/dev.src" "$OUT/test/jfleg/test.tokens"
    python "$HERE/tokens.py" plain <"$TEST/dev.src" >"$OUT/test/jfleg/test.noisy"
    for gold in $TEST_M2; do python "$HERE/texts.py" source "$gold" "$OUT/test/$(basename "$gold" .m2)"; done
}
score() {  # score NAME SYSTEM...: the system corrects plain text; the outputs are tokenised again and scored
    for folder in "$OUT"/test/*; do
        "${@:2}" <"$folder/test.noisy" | python "$HERE/tokens.py" back "$folder/test.tokens" >"$folder/$1.out"
    done
    lev-plugins score gleu "$OUT/test/jfleg/$1.out" "$TEST"/dev.ref? --source "$TEST/dev.src" --draft "$TEST/dev.src" \
        --bootstrap 1000 >"$OUT/test/jfleg/$1.score"
    for gold in $TEST_M2; do
        folder=$OUT/test/$(basename "$gold" .m2)
        lev-plugins score m2 "$folder/$1.out" "$gold" $M2_FLAGS >"$folder/$1.score"
    done
}
score_once() { once "score $1" score "$@"; }
