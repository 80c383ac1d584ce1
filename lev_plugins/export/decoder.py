"""Models in torch: they decode a binarised data folder, edit the segments of an editor's texts, or label texts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import numpy as np
import torch
from fairseq import utils
from fairseq.data import Dictionary, FairseqDataset
from fairseq.data.data_utils import collate_tokens
from fairseq.dataclass.configs import GenerationConfig
from fairseq.tasks import FairseqTask
from fairseq.utils import split_paths

from lev_plugins.correction.task import TextCorrectionTask
from lev_plugins.editor.options import EditOptions
from lev_plugins.editor.scorer import BATCH, Scorer
from lev_plugins.editor.segments import LevTSegments, Seq2SeqSegments, batches
from lev_plugins.edits.batch_words import look_up_words, with_pieces
from lev_plugins.edits.refinement import ALTERNATIVES, Sentence
from lev_plugins.export.load_model import read_models, torch_device
from lev_plugins.labelling.criterion import answers_of
from lev_plugins.labelling.dataset import targets
from lev_plugins.labelling.examples import Example
from lev_plugins.labelling.model import EncT5
from lev_plugins.labelling.task import TextLabellingTask
from lev_plugins.levt.model import LevT
from lev_plugins.text.ids import BOS, EOS, PAD, Array, Rows, padded
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.training import checkpoints
from lev_plugins.training.batch import Batch, Hypothesis, NetInput
from lev_plugins.training.noisy import WITHOUT_NOISE
from lev_plugins.training.pairs import WITHOUT_SCORES
from lev_plugins.training.scores import score_sentences
from lev_plugins.training.tokenise import MODEL
from lev_plugins.utils.errors import require
from lev_plugins.utils.model_folder import SEARCH_FLAGS, ModelConfig, moved_folders

Sample = TypeVar("Sample")  # tensors in dictionaries and lists, such as a batch


class CheckpointDecoder:
    """An ensemble of checkpoints, or a model folder, with the task of its training."""

    def __init__(
        self,
        paths: list[Path],
        overrides: Mapping[str, object],
        search: Mapping[str, object],
        device: str,
        fp16: bool = False,
        folder: ModelConfig | None = None,
    ) -> None:
        """
        paths: checkpoints, or one model folder
        overrides: flags of the task, such as another data folder
        search: fairseq's flags of generation
        device: of torch
        fp16: compute in half precision
        folder: the contents of the model folder's config.json, if they have been read
        """
        # without the metrics and the noise of their own training
        loaded = read_models(paths, {**WITHOUT_SCORES, **WITHOUT_NOISE, **overrides}, folder=folder)
        self.models, self.task, self.device = loaded.models, loaded.task, torch_device(device)
        for name in search:
            require(
                hasattr(GenerationConfig, name), f"search_flags has {name!r}, which is not a flag of fairseq-generate"
            )
        options = GenerationConfig(**search)
        for model in self.models:
            model.eval().to(self.device, torch.half if fp16 else None)
            model.prepare_for_inference_(SimpleNamespace(generation=options))
        self.generator = self.task.build_generator(self.models, options)
        self.max_positions = utils.resolve_max_positions(
            self.task.max_positions(), *(model.max_positions() for model in self.models)
        )

    def dataset(self, split: str) -> FairseqDataset:
        self.task.load_dataset(split)
        return self.task.dataset(split)

    def write(self, dataset: FairseqDataset, indices: range, max_tokens: int) -> list[list[int] | None]:
        """Returns the output for each sentence, with </s>; None if the sentence is too long for the model."""
        best = self.best(dataset, indices, max_tokens)
        plain = {index: [i for i in hyp["tokens"].tolist() if i not in (BOS, PAD, EOS)] for index, hyp in best}
        return [[*plain[index], EOS] if index in plain else None for index in indices]

    def best(self, dataset: FairseqDataset, indices: range, max_tokens: int) -> Iterator[tuple[int, Hypothesis]]:
        """Yields the best hypothesis of each sentence that is not too long, in any order."""
        for sample in self.samples(dataset, indices, max_tokens):
            hypotheses = self.task.inference_step(self.generator, self.models, sample)
            for index, n_best in zip(sample["id"].tolist(), hypotheses, strict=True):
                yield index, n_best[0]

    def samples(self, dataset: FairseqDataset, indices: range, max_tokens: int) -> Iterator[Batch]:
        """Yields batches of sentences of similar length; one longer than ``max_tokens`` is a batch by itself."""
        fitting, _ = dataset.filter_indices_by_size(np.array(indices), self.max_positions)
        for batch in batches({index: dataset.num_tokens(index) for index in fitting}, fitting, max_tokens):
            sample = dataset.collater([dataset[index] for index in batch])
            yield to_device(sample, self.device)


def dictionaries_and_limits(decoder: CheckpointDecoder) -> tuple[tuple[Dictionary, Dictionary], tuple[int, int]]:
    """Returns the dictionaries of source and target, and the positions that the models have for each of them."""
    return (decoder.task.source_dictionary, decoder.task.target_dictionary), decoder.max_positions


def to_device(sample: Sample, device: torch.device) -> Sample:
    return utils.move_to_cuda(sample, device)  # despite its name, to any device


class TorchLevT(LevTSegments):
    """Edits segments with a levt in torch."""

    def __init__(self, decoder: CheckpointDecoder, max_tokens: int) -> None:
        super().__init__(*dictionaries_and_limits(decoder), max_tokens, decoder.task.word_index is not None)
        self.decoder = decoder

    def refine(self, sources: Rows, drafts: Rows, marks: Rows, unknown: list[str]) -> list[Sentence]:
        batch = to_device(self.batch(sources, unknown), self.decoder.device)
        src_tokens, lengths = batch["src_tokens"], [*map(len, sources)]
        return self.decoder.generator.refine(src_tokens, lengths, drafts, marks, batch.get("words"), ALTERNATIVES)

    def batch(self, sources: Rows, unknown: list[str]) -> NetInput:
        index, batch = self.decoder.task.word_index, NetInput(src_tokens=torch.from_numpy(padded(sources)))
        if index is not None:
            batch["words"] = with_pieces(look_up_words(unknown, index), batch["src_tokens"], unknown, index)
        return batch


class TorchSeq2Seq(Seq2SeqSegments):
    """Edits segments with a model of ``text_correction`` in torch."""

    def __init__(self, decoder: CheckpointDecoder, max_tokens: int) -> None:
        super().__init__(*dictionaries_and_limits(decoder), max_tokens)
        self.decoder = decoder

    def sample(self, sources: Rows) -> Batch:
        """Returns the sources as a batch of fairseq."""
        task = self.decoder.task
        pad, left_pad = task.source_dictionary.pad(), task.cfg.left_pad_source
        tokens = collate_tokens([torch.tensor(source) for source in sources], pad, left_pad=left_pad)
        net_input = NetInput(src_tokens=tokens, src_lengths=tokens.ne(pad).sum(1))
        return {"net_input": to_device(net_input, self.decoder.device)}

    def write(self, sources: Rows) -> Rows:
        decoder = self.decoder
        results = decoder.task.inference_step(decoder.generator, decoder.models, self.sample(sources))
        return [best["tokens"].tolist() for best, *_ in results]

    def score(self, sources: Rows, outputs: Rows) -> list[float]:
        rows = [torch.tensor(output) for output in outputs]
        words = self.decoder.task.target_dictionary
        hypotheses = score_sentences(self.decoder.models, self.sample(sources), rows, words)
        return [float(hypothesis["positional_scores"].sum()) for hypothesis in hypotheses]


class TaskScorer(Scorer):
    """Scores labels with a checkpoint."""

    def __init__(self, task: TextLabellingTask, model: EncT5, device: str = "cpu") -> None:
        super().__init__(task.info, task.dictionary, task.labels, task.folder)
        checkpoints.require_finite_weights(model)
        self.task, self.device = task, torch_device(device)
        self.model = model.to(self.device).eval()
        self.interaction = model.decoder.interaction
        task.prepare_for_decoding([model])

    @classmethod
    def load(cls, path: Path, data: str | Path | None, device: str, folder: ModelConfig | None) -> TaskScorer:
        loaded = read_models([path], {"pack": False, **moved_folders(data)}, ["text_labelling"], folder)
        return cls(loaded.task, loaded.models[0], device)

    def batch(self, examples: list[Example], labels: tuple[int, ...]) -> list[Array]:
        dataset = self.task.dataset_of(examples, labels=labels)
        sample = to_device(dataset.collater([dataset[i] for i in range(len(dataset))]), self.device)
        with torch.no_grad():
            scores = answers_of(self.model(**sample["net_input"]).logits.float(), self.info.kind).cpu().numpy()
        order = sample["id"].tolist()  # rows with several examples have them in another order
        by_index = dict(zip(order, self.split_by_example(scores, [examples[i] for i in order]), strict=True))
        return [by_index[i] for i in range(len(examples))]

    def of_part(self, part: str, labels: tuple[int, ...] = (), size: int = BATCH) -> tuple[Array, Array]:
        """Returns the truth and the scores (n, L) of a binarised part, for all labels or for these ids."""
        self.task.load_dataset(part)
        examples = self.task.datasets[part].examples
        request = self.task.dataset_of(examples, labels=labels).request
        return targets(examples, request).numpy(), np.stack(self.scores(examples, labels, size))


def load_torch_editor(
    path: Path, folder: ModelConfig | None, data: str | Path | None, options: EditOptions
) -> tuple[TorchLevT | TorchSeq2Seq, Tokeniser]:
    """Loads a checkpoint or a model ``folder`` for an ``Editor``, in torch."""
    options.require_no_int8(path)
    overrides = {**options.given("keep_bias"), **options.task_flags, **moved_folders(data, options.backbone)}
    search = {**options.given(*SEARCH_FLAGS), **options.search_flags}
    decoder = CheckpointDecoder([path], overrides, search, options.device, folder=folder)
    model, task = decoder.models[0], decoder.task
    require(
        isinstance(model, LevT) or isinstance(task, TextCorrectionTask),
        f"{path} was trained with --task {task.name} --arch {model.__class__.__name__}: only a levt or a "
        "model of text_correction can edit",
    )
    for name in options.task_flags:
        require(hasattr(task.cfg, name), f"task_flags has {name!r}, which is not a flag of --task {task.name}")
    segment_model = (TorchLevT if isinstance(model, LevT) else TorchSeq2Seq)(decoder, options.max_tokens)
    return segment_model, Tokeniser(folder.bpe(path) if folder else bpe_of(task, options.bpe))


def bpe_of(task: FairseqTask, bpe: Namespace | None) -> Namespace | None:
    """Returns ``bpe``, or the sentencepiece model in the data folder of a checkpoint, if there is one."""
    model = Path(split_paths(task.cfg.data)[0], MODEL)
    if bpe is None and model.is_file():
        return Namespace(bpe="sentencepiece", sentencepiece_model=str(model))
    return bpe
