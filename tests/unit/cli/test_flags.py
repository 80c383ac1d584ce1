"""Flags that have no effect without another one are refused."""

import pytest

from lev_plugins.utils.errors import UserError
from tests.helpers import toy_config, toy_model, toy_task


def test_int8_is_refused_outside_of_model_folders() -> None:
    message = "--cpu-int8 requires the ONNX graphs of a model folder"
    with pytest.raises(UserError, match=message):
        toy_task(cpu_int8=True).build_model(toy_config())
    with pytest.raises(UserError, match=message):
        toy_task(cpu_int8=True).prepare_for_decoding([toy_model()])
