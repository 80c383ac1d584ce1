"""Names of models on the command line."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from lev_plugins.cli.named import named_paths
from lev_plugins.cli.serve import load_models
from lev_plugins.utils.errors import UserError


def test_models_are_named_by_their_paths(tmp_path: Path) -> None:
    assert named_paths(["a/typos-1.0/", "b/last.pt", "x=a=b"], "models") == {
        "typos-1.0": Path("a/typos-1.0"),
        "last": Path("b/last.pt"),
        "x": Path("a=b"),
    }
    odd = tmp_path / "a=b"
    odd.mkdir()
    assert named_paths([f"{odd}", f"y={odd}"], "models") == {"a=b": odd, "y": odd}
    with pytest.raises(UserError, match="two models are called a"):
        named_paths(["a", "b/a"], "models")
    with pytest.raises(UserError, match="'a b'"):
        load_models(SimpleNamespace(models=["a b=b"], cpu=True, cpu_int8=False))
