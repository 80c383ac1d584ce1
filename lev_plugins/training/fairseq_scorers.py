"""The scorers that fairseq builds for ``--scoring ter, rouge, wrr, exact_match``: one for each metric of the table."""

from dataclasses import field, make_dataclass

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer

from lev_plugins.scoring.evaluation import Evaluation
from lev_plugins.scoring.metrics import METRICS, Metric


class TextScorer(BaseScorer):
    """A metric of the table as a scorer of fairseq, which collects references and texts."""

    metric: Metric

    def evaluate(self) -> Evaluation:
        values = {name: getattr(self.cfg, f"{self.metric.fairseq}_{name}") for name in self.metric.options}
        options = {name: value if isinstance(value, bool) else str(value) for name, value in values.items()}
        return self.metric.evaluate(self.ref, self.pred, **options)

    def score(self) -> float:
        return self.evaluate().score

    def result_string(self) -> str:
        return self.evaluate().describe()


for metric in METRICS.values():
    if metric.fairseq is not None:
        flags = [
            (
                f"{metric.fairseq}_{name}",
                ChoiceEnum(list(option.choices)) if option.choices else bool,
                field(default=option.default, metadata={"help": option.help}),
            )
            for name, option in metric.options.items()
        ]
        config = make_dataclass(f"{metric.fairseq}_config", flags, bases=(FairseqDataclass,))
        scorer = type(f"{metric.fairseq}_scorer", (TextScorer,), {"metric": metric, "__module__": __name__})
        register_scorer(metric.fairseq, dataclass=config)(scorer)
