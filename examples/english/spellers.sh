# Sourced by run.sh, also by that of grammar: the tools that a user would take instead of an editor, if installed.
spellers() {  # spellers COMMAND...: runs COMMAND... NAME SPELLER..., where SPELLER... corrects its standard input
    local english=$HERE/../english
    if python -c 'import symspellpy' 2>/dev/null; then
        "$@" SymSpell python "$english/../denoising/symspell.py" --list ${LIST-}
        "$@" careful-SymSpell python "$english/../denoising/symspell.py" --list ${LIST-} --careful
    fi; [[ /${LANGUAGE_FILES-en} = */en ]] || return 0  # the others are for English
    if python -c 'import harper' 2>/dev/null; then
        "$@" Harper python "$english/harper_suggestions.py"
        "$@" careful-Harper python "$english/harper_suggestions.py" --careful
    fi
    if hunspell -d en_US -a </dev/null >/dev/null 2>&1; then "$@" Hunspell python "$english/ispell.py" hunspell -d en_US; fi
    if command -v aspell >/dev/null; then "$@" Aspell python "$english/ispell.py" aspell -l en; fi
}
