"""Numbers of all configurations have bounds, and errors name the flag."""

import math
from argparse import Namespace
from collections.abc import Callable
from dataclasses import MISSING, fields
from types import SimpleNamespace
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from fairseq.tasks.translation import TranslationConfig

from lev_plugins.correction import gated_pretrained, pbd
from lev_plugins.correction.task import TextCorrectionConfig, TextCorrectionTask
from lev_plugins.labelling import config as enct5_config
from lev_plugins.labelling.criterion import LabellingConfig, LabellingCriterion
from lev_plugins.labelling.task import TextLabellingConfig, TextLabellingTask
from lev_plugins.levt import config as levt
from lev_plugins.levt.criterion import DualPolicyConfig, DualPolicyCriterion
from lev_plugins.levt.task import TextEditingConfig, TextEditingTask
from lev_plugins.training import encoder_decoder
from lev_plugins.training.noisy import NoiseConfig
from lev_plugins.utils import ranges
from lev_plugins.utils.errors import UserError

LABELLING = object.__new__(TextLabellingTask)  # numbers are looked at before anything is asked of the task
LABELLING.cfg = TextLabellingConfig()


CHECKS: dict[type, Callable[[Namespace], object]] = {
    encoder_decoder.EncoderDecoderConfig: encoder_decoder.check_sizes,
    gated_pretrained.PretrainedConfig: lambda cfg: gated_pretrained.check_backbone(cfg, "t5"),
    levt.LevTConfig: levt.check_levt_config,
    pbd.PBDConfig: lambda cfg: pbd.check_pbd_config(cfg, None),
    enct5_config.EncT5Config: lambda cfg: enct5_config.check_enct5_config(cfg, LABELLING),
    TextEditingConfig: TextEditingTask.check_config,
    TextCorrectionConfig: TextCorrectionTask.check_config,
    TextLabellingConfig: TextLabellingTask.setup_task,
    DualPolicyConfig: lambda cfg: DualPolicyCriterion(cfg, SimpleNamespace()),
    LabellingConfig: lambda cfg: LabellingCriterion(cfg, SimpleNamespace(info=None)),
}
POSITION_FIELDS = ("max_source_positions", "max_target_positions")
# a seed is any number; fairseq's own are its own; those of noise are in test_noisy.py
SKIPPED = {
    "seed",
    *(field.name for field in fields(TranslationConfig)),
    *(field.name for field in fields(NoiseConfig)),
}
NUMBERS = [
    (config, name)
    for config in CHECKS
    for name, kind in get_type_hints(config).items()
    if (kind in (int, float) or (get_origin(kind) is Union and get_args(kind)[0] in (int, float)))
    and (name in POSITION_FIELDS or name not in SKIPPED)
]


def default_config(config: type, data: object) -> Namespace:
    """Returns the defaults of a configuration, with numbers for its references and missing values."""
    values = {field.name: field.default for field in fields(config) if field.default is not MISSING}
    values |= {name: 1024 for name in POSITION_FIELDS if name in values} | {"data": str(data)}
    if config is enct5_config.EncT5Config:
        values |= enct5_config.USUAL_SIZES
    return Namespace(**{name: value for name, value in values.items() if name in get_type_hints(config)})


def test_numbers_of_all_configurations_are_checked() -> None:
    names = {name for _, name in NUMBERS}
    assert len(NUMBERS) > 60
    assert {"encoder_layers", "dropout", "head_dim", "max_target_positions", "score_at", "rollin_beta"} <= names


MODEL_CONFIGS = (encoder_decoder.EncoderDecoderConfig, levt.LevTConfig, pbd.PBDConfig, enct5_config.EncT5Config)
SIZE_FIELDS = [
    (config, name) for config, name in NUMBERS if config in MODEL_CONFIGS and get_type_hints(config)[name] is not float
]
WRONG_VALUES = [(*number, value) for number in NUMBERS for value in (math.nan, math.inf)]
WRONG_VALUES += [(*number, value) for number in SIZE_FIELDS for value in (-7, 100_000_000)]


@pytest.mark.parametrize(("config", "name", "value"), WRONG_VALUES)
def test_numbers_outside_their_bounds_are_refused(tmp_path: Any, config: type, name: str, value: float) -> None:
    cfg = default_config(config, tmp_path)
    setattr(cfg, name, value)
    with pytest.raises(UserError, match=f"^{ranges.flag_name(name)} must be .*, but is {value}"):
        CHECKS[config](cfg)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder_layers": 100_000_000}, "--encoder-layers must be at most 1000, but is 100000000"),
        ({"decoder_embed_dim": 0}, "--decoder-embed-dim must be at least 1, but is 0"),
        ({"encoder_embed_dim": 30}, "--encoder-embed-dim must be a multiple of --encoder-attention-heads, but 30 is"),
        ({"dropout": 2.0}, "--dropout must be at least 0 and below 1, but is 2.0"),
        ({"max_source_positions": "1024"}, "--max-source-positions must be a number, but is '1024'"),
        ({"max_source_positions": True}, "--max-source-positions must be a number, but is True"),
    ],
)
def test_sizes_of_fairseqs_models_are_checked(options: dict[str, Any], message: str) -> None:
    sides = ("encoder_", "decoder_")
    sizes = {"layers": 2, "embed_dim": 32, "ffn_embed_dim": 64, "attention_heads": 4}
    cfg = Namespace(**{side + name: value for side in sides for name, value in sizes.items()}, **{"dropout": 0.1})
    task = object.__new__(TextCorrectionTask)
    with pytest.raises(UserError, match=message):
        task.build_model(Namespace(**{**vars(cfg), **options}))


def test_architectures_without_attention_heads_are_not_checked() -> None:
    ranges.check_ranges(Namespace(encoder_layers="[(512, 3)] * 20"))  # fconv's


@pytest.mark.parametrize(("threshold", "nwords"), [(-1, -1), (0, 0), (0, 4), (0, -7)])
def test_wrong_dictionary_sizes_are_refused(threshold: int, nwords: int) -> None:
    wrong = r"--nwords must be -1 \(no limit\) or more than 4" if threshold == 0 else "--threshold must be at least 0"
    with pytest.raises(UserError, match=wrong):
        ranges.dictionary_size(Namespace(threshold=threshold, nwords=nwords), "threshold", "nwords")
