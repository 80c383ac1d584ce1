"""What is peculiar to a language, as files."""

from pathlib import Path

import pytest

from lev_plugins.noise import NoiseOptions, build_corruption
from lev_plugins.noise.confusions import read_table
from lev_plugins.noise.languages import (
    ALPHABET,
    CHAT,
    CONFUSIONS,
    ENDINGS,
    KEYBOARD,
    LANGUAGE_FOLDERS,
    SHORT_WORDS,
    known_languages,
    language_words,
)
from lev_plugins.noise.layouts import neighbouring_keys
from lev_plugins.noise.options import with_language_files
from lev_plugins.utils.errors import UserError

TEXT_OF_LANGUAGE = {"en": "The quick brown fox jumps over 7 lazy dogs", "uk": "Щедрий ґазда їсть 7 борщів із сім'єю"}


@pytest.mark.parametrize("language", known_languages())
def test_the_files_of_a_language_agree_with_its_alphabet(language: str) -> None:
    folder = LANGUAGE_FOLDERS / language
    letters, digits = language_words(folder, ALPHABET)
    assert digits == "0123456789" and len(set(letters)) == len(letters)
    keys = set("".join(neighbouring_keys(str(folder / KEYBOARD))))
    assert keys <= {*letters, *letters.upper()}
    table = read_table(folder / CONFUSIONS)
    words = {word for row in table.confusions for word in (*row.clean, *row.noisy)} | {*language_words(folder, ENDINGS)}
    assert set("".join(words).lower()) <= {*letters, *"'-"}
    assert language_words(folder, CHAT) and language_words(folder, SHORT_WORDS)


@pytest.mark.parametrize("language", TEXT_OF_LANGUAGE)
def test_noise_writes_letters_of_the_language_for_letters_and_digits_for_digits(language: str) -> None:
    letters, digits = language_words(LANGUAGE_FOLDERS / language, ALPHABET)
    for kind in ("insert", "substitute", "keyboard"):
        corrupt = build_corruption(NoiseOptions(kind, char_rate=0.5, language_files=language))
        noisy = [corrupt(TEXT_OF_LANGUAGE[language], index) for index in range(50)]
        assert set("".join(noisy).lower()) <= {*letters, *digits, *" '"}
        place = TEXT_OF_LANGUAGE[language].split().index("7")
        assert {text.split()[place] for text in noisy} <= {*digits} or kind == "insert"


def test_flags_override_the_files_of_a_language(tmp_path: Path) -> None:
    options = NoiseOptions("confusions", 0.5, min_letters=2, alphabet="xyz", short_words="a", language_files="uk")
    assert with_language_files(options).alphabet == "xyz" and with_language_files(options).short_words == "a"
    assert with_language_files(options).confusions == str(LANGUAGE_FOLDERS / "uk" / CONFUSIONS)
    assert build_corruption(NoiseOptions("swap", 0.5, language_files="uk"))("Україна", 0)  # needs no letters
    (tmp_path / ALPHABET).write_text("xy\n", "utf-8")
    options_of_folder = with_language_files(NoiseOptions("random", 0.5, language_files=str(tmp_path)))
    assert options_of_folder == NoiseOptions("random", 0.5, alphabet="xy")


def test_a_language_without_files_is_refused() -> None:
    with pytest.raises(UserError, match="--noise-language-files xx is unknown"):
        build_corruption(NoiseOptions("swap", 0.5, language_files="xx", prefix="--noise-"))
