"""Options of noise that are refused."""

import pytest

from lev_plugins.noise import NoiseOptions, build_corruption
from lev_plugins.utils.errors import UserError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (NoiseOptions("typos", 0.1), "--kind 'typos' is unknown"),
        (NoiseOptions("swap,", 0.1), "--kind '' is unknown"),
        (NoiseOptions("swap,swap", 0.1), "--kind names swap twice"),
        (NoiseOptions("swap:0", 0.1), "--kind: the weight in 'swap:0' must be above 0, but is 0"),
        (NoiseOptions("swap:x", 0.1), "--kind: a weight must be a number, .* has 'x'"),
        (NoiseOptions("swap", 1.5), "--word-rate must be between 0 and 1, but is 1.5"),
        (NoiseOptions("swap"), "--kind swap needs --word-rate, --char-rate or both"),
        (NoiseOptions("ocr", varied=True), "--varied needs --word-rate, --char-rate or both"),
        (NoiseOptions("keyboard", 0.1, layout="qwertzy"), "--layout qwertzy is unknown"),
        (NoiseOptions("confusions", 0.1), "--confusions FILE and the kind confusions go together"),
        (NoiseOptions("swap", 0.1, confusions="x.tsv"), "--confusions FILE and the kind confusions go together"),
        (NoiseOptions("insert", 0.1, alphabet=""), "--alphabet must have letters, but is empty"),
        (NoiseOptions("swap", 0.1, shift_rate=0.5), "--shift-rate needs --kind keyboard"),
        (NoiseOptions("swap", 0.1, alphabet="x"), "--alphabet needs --kind random or insert or substitute"),
        (NoiseOptions("keyboard", 0.1, shift_rate=2), "--shift-rate must be between 0 and 1, but is 2"),
        (NoiseOptions("typos", 0.1, prefix="--noise-"), "--noise-kind 'typos' is unknown"),
    ],
)
def test_wrong_options_are_refused(options: NoiseOptions, message: str) -> None:
    with pytest.raises(UserError, match=message):
        build_corruption(options)
