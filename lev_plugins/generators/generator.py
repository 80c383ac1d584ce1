"""fairseq's generator interface around iterative refinement (``generators.refinement``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor

from lev_plugins.edits.actions import require_room
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.errors import UserError, require
from lev_plugins.generators.policies import Ensemble, EnsemblePolicies, Oracle
from lev_plugins.generators.refinement import ALTERNATIVES, Policies, Refiner, Sentence
from lev_plugins.generators.rerank import rerank
from lev_plugins.models.levt import LevT
from lev_plugins.spelling.batch_words import BatchWords
from lev_plugins.text.ids import BOS, EOS, PAD, Rows


class RefinementGenerator:
    """Decodes batches of fairseq: ``generate(models, sample)`` returns n-best lists of hypotheses on the CPU.

    The score of a hypothesis is the mean log-probability of its tokens, including boundaries.
    """

    pad, eos = PAD, EOS  # fairseq-generate reads eos

    def __init__(self, models: list[Any], tgt_dict: Any, options: RefinementOptions, reranker: Any | None = None):
        require(any(isinstance(m, LevT) for m in models), "decoding by refinement requires a levt checkpoint in --path")
        others = sorted({type(m).__name__ for m in models if not isinstance(m, LevT)})
        require(
            not others,
            f"--path names a {' and a '.join(others)} and a levt, which cannot form an ensemble: leave one out, "
            "or rerank with the last checkpoint by --iter-decode-with-external-reranker",
        )
        require(
            reranker is None or isinstance(reranker, FairseqEncoderDecoderModel),
            "--iter-decode-with-external-reranker requires a left-to-right encoder-decoder as the last checkpoint of "
            f"--path, but it is a {type(reranker).__name__}: use --path levt.pt:transformer.pt",
        )
        self.ensemble, self.options, self.reranker, self.tgt_dict = Ensemble(models), options, reranker, tgt_dict
        self.max_tokens = self.ensemble.max_target_positions
        if reranker is not None:  # it reads outputs with </s> and without <s>
            self.max_tokens = min(self.max_tokens, reranker.max_decoder_positions() + 1)
        self.refiner = Refiner(options, self.ensemble.placeholder, self.max_tokens)
        self.random = torch.Generator().manual_seed(torch.initial_seed() % 2**63)

    def generate(
        self, models: Any, sample: dict[str, Any], prefix_tokens: Tensor | None = None, constraints: Any = None
    ) -> list[list[dict[str, Any]]]:
        require(prefix_tokens is None, "--prefix-size is for left-to-right search: give a levt a draft instead")
        net_input, options, n = sample["net_input"], self.options, self.options.candidates
        src_tokens, draft, marks = (net_input.get(name) for name in ("src_tokens", "draft", "requests"))
        target = None
        if options.oracle != "none":
            target = sample.get("target")
            if target is None:
                raise UserError(
                    f"--oracle {options.oracle} requires references, but the input has no targets: leave it out here"
                )
        if draft is not None:
            require_room(draft, PAD, self.max_tokens, "target")
        record = ALTERNATIVES if options.retain_history else 0
        rows = rows_of(src_tokens, draft, marks)
        sentences = self.refine(src_tokens, *rows, net_input.get("words"), record, target)
        hypotheses = list(self.hypotheses(sentences))
        groups = [hypotheses[i : i + n] for i in range(0, len(hypotheses), n)]
        if self.reranker is not None:
            known = self.tgt_dict.unknown_to_unk(src_tokens) if self.ensemble.spells else src_tokens
            rerank(self.reranker, self.tgt_dict, known, groups)
        if n > 1:
            for group in groups:
                group.sort(key=lambda hypothesis: -hypothesis["score"].item())  # equals stay in order
        return groups

    def refine(
        self,
        src_tokens: Tensor,
        source_lengths: Iterable[int],
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
            marks: what a person requested for each token (``edits.mark_bits``)
            words: with --spelling, the unknown words of the batch
            alternatives: how many of the best words to record for each placeholder
            target: the references (B, R) without <s>, for an oracle
        """
        for model in self.ensemble.models:
            if model.training:  # asking takes less time
                model.eval()
        if self.random.device != src_tokens.device:
            self.random = torch.Generator(src_tokens.device).manual_seed(self.random.initial_seed())
        with torch.no_grad() if self.options.trained_later else torch.inference_mode():
            of_models = EnsemblePolicies(self.ensemble, src_tokens, words, alternatives, self.options, self.random)
            policies: Policies = of_models
            if target is not None:
                with_start = F.pad(target.cpu(), (1, 0), value=BOS)
                policies = Oracle(of_models, with_start, counts=self.options.oracle == "delete+placeholder")
            return self.refiner.refine(policies, source_lengths, drafts, marks)

    def hypotheses(self, sentences: list[Sentence]) -> Iterator[dict[str, Any]]:
        """The sentences as fairseq's hypotheses, which begin after <s>."""
        lengths, scores = [len(one.tokens) for one in sentences], self.refiner.scores(sentences)
        # one tensor for all of them takes less time than one for each
        all_tokens = torch.tensor([token for one in sentences for token in one.tokens]).split(lengths)
        all_scores = torch.tensor([score for row in scores for score in row]).split(lengths)
        means = torch.tensor([sum(row) / len(row) for row in scores])
        for sentence, *tensors in zip(sentences, all_tokens, all_scores, means, strict=True):
            tokens, positional_scores, score = tensors
            hypothesis = {
                "tokens": tokens[1:],
                "positional_scores": positional_scores[1:],
                "score": score,
                "steps": sentence.steps,
                "alignment": None,
                "attention": None,
            }
            if self.options.retain_history:
                history = [{"tokens": torch.tensor(tokens)} for tokens in sentence.history]
                hypothesis |= {"history": history, "edits": sentence.edits()[1]}
            yield hypothesis


def rows_of(src_tokens: Tensor, draft: Tensor | None, marks: Tensor | None) -> tuple[list[int], Rows, Rows]:
    """Copies the lengths of sources, drafts and their marks to the host, together.

    >>> rows_of(torch.tensor([[0, 5, 2]]), torch.tensor([[0, 6, 2, 1]]), torch.tensor([[8, 0, 0, 0]]))
    ([3], [[0, 6, 2]], [[8, 0, 0]])
    """
    lengths = src_tokens.ne(PAD).sum(1)
    if draft is None:
        return lengths.tolist(), [[BOS, EOS]] * len(src_tokens), [[0, 0]] * len(src_tokens)
    width, marks = draft.size(1), torch.zeros_like(draft) if marks is None else marks
    rows = torch.cat([lengths[:, None], draft, marks], 1).tolist()
    drafts = [[token for token in row[1 : 1 + width] if token != PAD] for row in rows]
    of_drafts = zip(rows, drafts, strict=True)
    return [row[0] for row in rows], drafts, [row[1 + width :][: len(draft)] for row, draft in of_drafts]
