"""Flags that only earlier versions had are refused with what to use instead."""

import pytest

from lev_plugins.cli.flags import REMOVED_FLAGS
from lev_plugins.cli.main import main
from lev_plugins.levt.task import TextEditingTask
from lev_plugins.utils.errors import UserError
from tests.helpers import toy_config, toy_model, toy_task


@pytest.mark.parametrize(
    "command, flag", [(command, flag) for command, flags in REMOVED_FLAGS.items() for flag in flags]
)
def test_removed_flags_are_refused(command: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "x", f"{flag}=5", "--help"]) == 2
    assert capsys.readouterr().err == f"lev-plugins: error: {flag} was removed: {REMOVED_FLAGS[command][flag]}\n"


def test_removed_flags_of_fairseq_commands_are_refused() -> None:
    with pytest.raises(UserError, match="--cuda-graphs has been removed"):
        TextEditingTask.check_config(toy_task(cuda_graphs=True).cfg)
    message = "--cpu-int8 requires the ONNX graphs of a model folder"
    with pytest.raises(UserError, match=message):
        toy_task(cpu_int8=True).build_model(toy_config())
    with pytest.raises(UserError, match=message):
        toy_task(cpu_int8=True).prepare_for_decoding([toy_model()])
