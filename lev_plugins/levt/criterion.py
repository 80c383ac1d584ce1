"""Dual-policy learning: the losses of Algorithm 1, L^ins + L^del."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.logging import metrics
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from lev_plugins.edits.actions import deletable
from lev_plugins.levt.words import ROLLINS, Learning
from lev_plugins.nn.output_loss import IGNORE
from lev_plugins.training.batch import Batch
from lev_plugins.utils.ranges import bounded, flag

HEADS = ("deletion", "placeholder", "token")
# policies whose mean label is logged, by the name of that: the share of deletions, the placeholders per slot
SUMMED_LABELS = {"deletion": "deletion_rate", "placeholder": "insertions_per_slot"}
VALIDATION_SEED = 1  # keeps the roll-ins of validation independent of training


@dataclass
class DualPolicyConfig(FairseqDataclass):
    label_smoothing: float = flag(0.1, "label smoothing of the token policy")
    placeholder_label_smoothing: float = flag(0.01, "label smoothing of the placeholder policy")
    deletion_label_smoothing: float = flag(0.0, "label smoothing of the deletion policy")
    deletion_rollin: ChoiceEnum(ROLLINS) = flag(  # type: ignore[valid-type]
        "argmax",
        "what the deletion policy learns to delete: the model's own insertions, chosen by argmax (Algorithm 1) or "
        "sampled (Eq. 6), or random words (dae, the ablation in Table 2b)",
    )
    loss_average: ChoiceEnum(["counts", "heads"]) = flag(  # type: ignore[valid-type]
        "counts",
        "counts: the sum over all decisions of all policies, divided by the target tokens of the update, which does "
        "not depend on how the update is split into batches; heads: the sum of each policy's mean within a batch, as "
        "in fairseq's nat_loss",
    )


@register_criterion("dual_policy", dataclass=DualPolicyConfig)
class DualPolicyCriterion(FairseqCriterion):
    """The sum of the losses of the three policies."""

    # names in the validation log, which --best-checkpoint-metric accepts
    logged = (
        *("loss", "nll_loss", "ppl", "deletion_rate", "insertions_per_slot"),
        *(f"{head}_{what}" for head in HEADS for what in ("loss", "nll", "accuracy")),
        "deletion_word_nll",
    )

    def __init__(self, cfg: DualPolicyConfig, task: FairseqTask) -> None:
        super().__init__(task)
        self.smoothing = {"deletion": cfg.deletion_label_smoothing, "placeholder": cfg.placeholder_label_smoothing}
        self.smoothing["token"] = cfg.label_smoothing
        for head, value in self.smoothing.items():
            bounded(f"--{'' if head == 'token' else head + '-'}label-smoothing", value, 0, below=1)
        self.rollin, self.average = str(cfg.deletion_rollin), str(cfg.loss_average)

    def forward(
        self, model: nn.Module, sample: Batch, reduce: bool = True
    ) -> tuple[Tensor, int, dict[str, Tensor | int]]:
        generator = None
        if not model.training and self.rollin != "argmax":
            generator = torch.Generator(sample["net_input"]["src_tokens"].device).manual_seed(VALIDATION_SEED)
        # label smoothing needs the scores of all words
        learning = Learning(self.rollin, generator, may_sample=self.smoothing["token"] == 0)
        output = model(**sample["net_input"], learning=learning)
        heads = {name: head.loss(self.smoothing[name]) for name, head in output._asdict().items()}
        if self.average == "heads":
            means = {name: head.loss / head.count.clamp(min=1) for name, head in heads.items()}
            loss, sample_size = sum(means.values(), torch.zeros(())), 1
        else:
            loss, sample_size = sum((h.loss for h in heads.values()), torch.zeros(())), sample["ntokens"]
        log: dict[str, Tensor | int] = {"loss": loss.detach(), "sample_size": sample_size}
        log |= {"ntokens": sample["ntokens"], "nsentences": sample["nsentences"]}
        for name, head in heads.items():
            log |= {f"{name}_{key}": value.detach() for key, value in vars(head).items()}
        for name in SUMMED_LABELS:  # the numbers of deletions and of insertions
            labels = getattr(output, name).labels
            log[f"{name}_label_sum"] = labels.masked_fill(labels.eq(IGNORE), 0).sum()
        if not model.training:
            # NLL(del) of Table 2b: without <s> and </s>, which Eq. (3) leaves out
            labels, dictionary = output.deletion.labels, self.task.target_dictionary
            is_word = deletable(output.deletion.tokens, dictionary.bos(), dictionary.eos(), dictionary.pad())
            of_words = output.deletion._replace(labels=labels.masked_fill(~is_word, IGNORE)).loss(smoothing=0.0)
            log |= {"deletion_word_nll": of_words.nll.detach(), "deletion_words": of_words.count}
        return loss, sample_size, log

    @staticmethod
    def reduce_metrics(logging_outputs: Sequence[Mapping[str, Tensor | float]]) -> None:
        sums = {key: sum(log.get(key, 0) for log in logging_outputs) for log in logging_outputs[:1] for key in log}
        on_device = {key: value.double() for key, value in sums.items() if isinstance(value, Tensor)}
        if on_device:  # one device-to-host copy
            host_values = torch.stack(list(on_device.values())).tolist()
            sums.update(zip(on_device, host_values, strict=True))

        def total(key: str) -> float:
            return float(sums.get(key, 0))

        def log_mean(name: str, what: str, of: str, unit: float = math.log(2), digits: int = 3) -> None:
            if count := total(of):
                metrics.log_scalar(name, total(what) / count / unit, count, round=digits)

        log_mean("loss", "loss", "sample_size")
        for name in HEADS:
            log_mean(f"{name}_loss", f"{name}_loss", f"{name}_count")
            log_mean(f"{name}_nll", f"{name}_nll", f"{name}_count")
            log_mean(f"{name}_accuracy", f"{name}_correct", f"{name}_count", unit=0.01, digits=2)
        for name, label in SUMMED_LABELS.items():
            log_mean(label, f"{name}_label_sum", f"{name}_count", unit=1)
        log_mean("deletion_word_nll", "deletion_word_nll", "deletion_words")
        log_mean("nll_loss", "token_nll", "token_count")
        if total("token_count"):  # in an interval without tokens to predict, the mean is None
            metrics.log_derived("ppl", lambda meters: round(2 ** min(meters["nll_loss"].avg or 0, 100), 2))

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True
