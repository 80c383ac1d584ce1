"""fairseq's generator interface around iterative refinement (``edits.refinement``)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from fairseq.data import data_utils
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor, nn

from lev_plugins.edits.actions import require_draft_fits
from lev_plugins.edits.batch_words import BatchWords, EditingDictionary
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.edits.refinement import ALTERNATIVES, Refiner, Sentence
from lev_plugins.levt.model import LevT
from lev_plugins.levt.policies import Ensemble, EnsemblePolicies, Oracle
from lev_plugins.nn.transformer import NO_PADDING
from lev_plugins.text.ids import BOS, EOS, PAD, Rows
from lev_plugins.training.batch import Batch, Hypothesis, NetInput
from lev_plugins.training.scores import score_sentences
from lev_plugins.utils.errors import UserError, require


class RefinementGenerator:
    """Decodes batches of fairseq by refinement; its hypotheses are on the CPU.

    The score of a hypothesis is the mean log-probability of its tokens, including boundaries.
    """

    eos = EOS  # fairseq-generate reads it

    def __init__(
        self,
        models: Sequence[nn.Module],
        tgt_dict: EditingDictionary,
        options: RefinementOptions,
        reranker: FairseqEncoderDecoderModel | None = None,
    ) -> None:
        """
        Args:
            models: one or several LevTs, which form an ensemble
            tgt_dict: their dictionary
            options: when to stop, and what a decision must win by
            reranker: a left-to-right model that chooses among ``options.candidates`` results
        """
        levts = [model for model in models if isinstance(model, LevT)]
        require(bool(levts), "decoding by refinement requires a levt checkpoint in --path")
        wrong_types = sorted({type(m).__name__ for m in models if not isinstance(m, LevT)})
        require(
            not wrong_types,
            f"--path names a {' and a '.join(wrong_types)} and a levt, which cannot form an ensemble: leave one out, "
            "or rerank with the last checkpoint by --iter-decode-with-external-reranker",
        )
        require(
            reranker is None or isinstance(reranker, FairseqEncoderDecoderModel),
            "--iter-decode-with-external-reranker requires a left-to-right encoder-decoder as the last checkpoint of "
            f"--path, but it is a {type(reranker).__name__}: use --path levt.pt:transformer.pt",
        )
        self.ensemble, self.options, self.reranker, self.tgt_dict = Ensemble(levts), options, reranker, tgt_dict
        self.max_tokens = self.ensemble.max_target_positions
        if reranker is not None:  # which reads </s>, but not <s>
            self.max_tokens = min(self.max_tokens, reranker.max_decoder_positions() + 1)
        self.refiner = Refiner(options, self.ensemble.placeholder, self.max_tokens)
        self.random = torch.Generator().manual_seed(torch.initial_seed() % 2**63)

    def generate(
        self,
        models: list[nn.Module] | None,
        sample: Batch,
        prefix_tokens: Tensor | None = None,
        constraints: Tensor | None = None,
    ) -> list[list[Hypothesis]]:
        """Returns an n-best list of hypotheses for each sentence of a batch.

        Args:
            models: not used; the generator has its models
            sample: a batch of a ``TextEditingDataset``
            prefix_tokens: must be None
            constraints: not used
        """
        require(prefix_tokens is None, "--prefix-size is for left-to-right search: give a levt a draft instead")
        net_input, options, n = sample["net_input"], self.options, self.options.candidates
        src_tokens, draft, marks = net_input["src_tokens"], net_input.get("draft"), net_input.get("marks")
        target = None
        if options.oracle != "none":
            target = sample.get("target")
            if target is None:
                raise UserError(
                    f"--oracle {options.oracle} requires references, but the input has no targets: leave it out here"
                )
        if draft is not None:
            require_draft_fits(draft, PAD, self.max_tokens, "target")
        record = ALTERNATIVES if options.retain_history else 0
        rows = rows_of(src_tokens, draft, marks)
        sentences = self.refine(src_tokens, *rows, net_input.get("words"), record, target)
        # fairseq prints hypotheses later, from ids alone
        learned = dict(enumerate(self.tgt_dict.learn(sample.get("unknown_words", ())), self.tgt_dict.size + 1))
        hypotheses = list(self.hypotheses(sentences, learned))
        groups = [hypotheses[i : i + n] for i in range(0, len(hypotheses), n)]
        if self.reranker is not None:
            sources = self.tgt_dict.unknown_to_unk(src_tokens) if self.ensemble.spells else src_tokens
            rerank(self.reranker, self.tgt_dict, sources, groups)
        if n > 1:
            for group in groups:
                group.sort(key=lambda hypothesis: -hypothesis["score"].item())  # ties stay in order
        return groups

    def refine(
        self,
        src_tokens: Tensor,
        source_lengths: Sequence[int],
        drafts: Rows,
        marks: Rows | None = None,
        words: BatchWords | None = None,
        alternatives: int = 0,
        target: Tensor | None = None,
    ) -> list[Sentence]:
        """Refines a batch of drafts, ``options.candidates`` times each.

        Args:
            src_tokens: the sources (B, S), padded on either side
            source_lengths: their numbers of tokens
            drafts: the tokens of each draft, with boundaries
            marks: the marks on each token (``text.mark_bits``)
            words: with --spelling, the unknown words of the batch
            alternatives: how many of the best words to record for each placeholder
            target: the references (B, R) without <s>, for an oracle
        """
        if self.random.device != src_tokens.device:
            self.random = torch.Generator(src_tokens.device).manual_seed(self.random.initial_seed())
        with self.evaluation():
            padding = NO_PADDING if min(source_lengths) == src_tokens.size(1) else None
            model_policies = EnsemblePolicies(
                self.ensemble, src_tokens, words, alternatives, self.options, self.random, padding
            )
            policies = model_policies if target is None else Oracle(model_policies, target)
            return self.refiner.refine(policies, source_lengths, drafts, marks)

    @contextmanager
    def evaluation(self) -> Iterator[None]:
        """Lets the models compute without dropout and gradients."""
        for model in self.ensemble.models:
            if model.training:  # model.eval() visits all modules, which takes time
                model.eval()
        with torch.inference_mode() if self.options.inference_mode else torch.no_grad():
            yield

    def hypotheses(self, sentences: list[Sentence], learned: Mapping[int, int]) -> Iterator[Hypothesis]:
        """Yields the sentences as fairseq's hypotheses, which begin after <s>.

        ``learned``: for the ids of the batch's unknown words, those by which the dictionary prints them.
        """

        def ids(tokens: list[int]) -> Tensor:
            return torch.tensor([learned.get(token, token) for token in tokens])

        for sentence, scores in zip(sentences, self.refiner.scores(sentences), strict=True):
            hypothesis: Hypothesis = {
                "tokens": ids(sentence.tokens[1:]),
                "positional_scores": torch.tensor(scores[1:]),
                "score": torch.tensor(sum(scores) / len(scores)),
                "steps": sentence.steps,
                "alignment": None,
                "attention": None,
            }
            if self.options.retain_history:
                hypothesis["history"] = [{"tokens": ids(tokens)} for tokens in sentence.history]
                hypothesis["edits"] = sentence.edits()[1]
            yield hypothesis


def rerank(model: nn.Module, tgt_dict: EditingDictionary, src_tokens: Tensor, groups: list[list[Hypothesis]]) -> None:
    """Replaces the score of every hypothesis by the mean log-probability that ``model`` gives its tokens.

    ``groups`` holds the candidates of each source sentence. <s> is removed from the sources, because autoregressive
    models are trained without it.
    """
    pad, bos = tgt_dict.pad(), tgt_dict.bos()
    sources = [row[row.ne(pad) & row.ne(bos)] for row in src_tokens]
    sources = [source for source, group in zip(sources, groups, strict=True) for _ in group]
    net_input: NetInput = {
        "src_tokens": data_utils.collate_tokens(sources, pad, left_pad=True),
        "src_lengths": torch.tensor([len(source) for source in sources], device=src_tokens.device),
    }
    hypotheses = [hypothesis for group in groups for hypothesis in group]
    targets = [tgt_dict.unknown_to_unk(hypothesis["tokens"]) for hypothesis in hypotheses]
    results = score_sentences([model], {"net_input": net_input}, targets, tgt_dict)
    for hypothesis, result in zip(hypotheses, results, strict=True):
        hypothesis["score"] = result["score"]


def rows_of(src_tokens: Tensor, draft: Tensor | None, marks: Tensor | None) -> tuple[list[int], Rows, Rows]:
    """Returns the lengths of sources, drafts and their marks, with one device-to-host copy.

    >>> rows_of(torch.tensor([[0, 5, 2]]), torch.tensor([[0, 6, 2, 1]]), torch.tensor([[8, 0, 0, 0]]))
    ([3], [[0, 6, 2]], [[8, 0, 0]])
    """
    lengths = src_tokens.ne(PAD).sum(1)
    if draft is None:
        return lengths.tolist(), [[BOS, EOS]] * len(src_tokens), [[0, 0]] * len(src_tokens)
    width, marks = draft.size(1), torch.zeros_like(draft) if marks is None else marks
    rows = torch.cat([lengths[:, None], draft, marks], 1).tolist()
    drafts = [[token for token in row[1 : 1 + width] if token != PAD] for row in rows]
    marks_of_drafts = [row[1 + width :][: len(draft)] for row, draft in zip(rows, drafts, strict=True)]
    return [row[0] for row in rows], drafts, marks_of_drafts
