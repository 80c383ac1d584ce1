"""What cannot be asked for."""

import pytest

from lev_plugins.noise import NoiseOptions, build_corruption
from lev_plugins.utils.errors import UserError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (NoiseOptions("typos", 0.1), "--kind 'typos' is unknown: choose from random, insert, .*, confusions"),
        (NoiseOptions("swap,", 0.1), "--kind '' is unknown"),
        (NoiseOptions("swap,swap", 0.1), "--kind names swap twice"),
        (NoiseOptions("swap:0", 0.1), "--kind: the weight in 'swap:0' must be above 0, but is 0"),
        (NoiseOptions("swap:x", 0.1), "--kind: a weight must be a number, as in keyboard:2, but 'swap:x' has 'x'"),
        (NoiseOptions("swap", 1.5), "--word-rate must be between 0 and 1, but is 1.5"),
        (NoiseOptions("swap"), "--kind swap needs --word-rate, --char-rate or both: only ocr or confusions has rates"),
        (NoiseOptions("ocr", varied=True), "--varied needs --word-rate, --char-rate or both"),
        (NoiseOptions("keyboard", 0.1, layout="qwertzy"), "--layout qwertzy is unknown: choose from azerty, .*qwertz"),
        (NoiseOptions("confusions", 0.1), "--confusions FILE and the kind confusions go together"),
        (NoiseOptions("swap", 0.1, confusions="x.tsv"), "--confusions FILE and the kind confusions go together"),
        (NoiseOptions("insert", 0.1, alphabet=""), "--alphabet must have letters, but is empty"),
        (NoiseOptions("swap", 0.1, shift_rate=0.5), "--shift-rate needs --kind keyboard"),
        (NoiseOptions("swap", 0.1, alphabet="x"), "--alphabet needs --kind random or insert or substitute"),
        (NoiseOptions("keyboard", 0.1, shift_rate=2), "--shift-rate must be between 0 and 1, but is 2"),
        (NoiseOptions("typos", 0.1, prefix="--noise-"), "--noise-kind 'typos' is unknown"),
    ],
)
def test_errors_name_the_flag_the_rule_and_the_value(options: NoiseOptions, message: str) -> None:
    with pytest.raises(UserError, match=message):
        build_corruption(options)
