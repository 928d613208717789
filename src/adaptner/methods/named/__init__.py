"""adaptner's own method. The encoder is pretrained on raw text. The decoder for a new label starts from
a matching source label or, if there is none, from the meaning of the label's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adaptner.adaptation.request import AdaptRequest
from adaptner.methods.base import Capabilities
from adaptner.methods.families.source_pretrained import SourcePretrainedMethod
from adaptner.methods.named.algorithm import adapt_named
from adaptner.methods.named.config import NamedConfig
from adaptner.methods.named.encoder_choice import MAX_FEW_SHOT, EncodedTarget, encode_target
from adaptner.methods.named.held_out import validate
from adaptner.progress import ProgressCallback, no_progress
from adaptner.types import LabelSet, Sentence

if TYPE_CHECKING:  # what `fit` alone needs is not imported for adapting
    from torch import nn

    from adaptner.corpora.sources import SourceDomain
    from adaptner.methods.families.source_pretrained import FitContext, Iteration
    from adaptner.models.base import Base
    from adaptner.models.mentions import HeldOutPredictions
    from adaptner.models.tagger import Tagger
    from adaptner.nn.model import TaggingModel
    from adaptner.training.budget import Budget
    from adaptner.training.loop import TrainingRun
    from adaptner.vectors.word_vectors import WordVectors


class NamedMethod(SourcePretrainedMethod):
    name = "named"
    title = "Named"
    paper = "adaptner"
    needs = "raw text; source corpora if there are any"
    capabilities = Capabilities(
        text="streamed",
        text_in_protocol=False,
        calibrated=True,
        early_stopping=True,
        decoders=("crf",),
        encoders=("recurrent",),
    )
    Config = NamedConfig
    config: NamedConfig

    def fit(
        self,
        sources: Sequence[SourceDomain],
        budget: Budget,
        *,
        vectors: WordVectors | None = None,
        start: Base | None = None,
        seed: int = 0,
        run: TrainingRun | None = None,
    ) -> Base:
        """With ``start``, the encoder is kept, so that everything else that the base knows stays
        valid. Decoders of sources with the same name are replaced."""
        base = super().fit(sources, budget, vectors=vectors, start=start, seed=seed, run=run)
        if start is None:
            return base
        base.provenance = base.provenance.keeping_encoder()
        base.label_probes = start.label_probes
        base.dictionary, base.raw_sentences = start.dictionary, start.raw_sentences
        second = start.fine_tuned_encoder
        if second is not None and not set(second.domains) & set(base.model.domains):
            base.fine_tuned_encoder = second
        if start.model.shape != base.model.shape or base.model.shape.shared:
            return base  # the decoders cannot be combined
        return base.of_domains(dict.fromkeys((*start.model.domains, *base.model.domains)), start)

    def iteration(self, context: FitContext) -> Iteration:
        if context.from_base:
            from adaptner.methods.named.pretraining import decoder_iteration

            return decoder_iteration(context, self.config)
        from adaptner.methods.families.supervised import joint_iteration

        return joint_iteration(context, self.config)

    def rates(self, model: TaggingModel, from_base: bool) -> dict[nn.Parameter, float]:
        if not from_base:
            return super().rates(model, from_base)
        return dict.fromkeys(model.decoder.parameters(), self.config.decoder_scale)

    def encode_once(
        self, base: Base, support: Sequence[Sentence], labels: LabelSet | None = None
    ) -> EncodedTarget:
        return encode_target(base, support, self.config.adaptation, labels)

    def tagger(self, base: Base, request: AdaptRequest) -> Tagger:
        encoded = request.encoded or self.encode_once(base, request.support, request.labels)
        return adapt_named(
            encoded,
            self.config.adaptation,
            unlabelled=request.unlabelled,
            budget=request.budget,
            seed=request.seed,
            progress=request.progress,
        )

    def can_estimate(self, support: Sequence[Sentence]) -> bool:
        return len(support) <= MAX_FEW_SHOT

    def held_out(
        self,
        base: Base,
        support: Sequence[Sentence],
        *,
        labels: LabelSet | None = None,
        seed: int = 0,
        progress: ProgressCallback = no_progress,
        encoded: EncodedTarget | None = None,
    ) -> list[HeldOutPredictions] | None:
        """From cross-validation of the decoder alone, which takes no longer than the fit. The
        calibration constants account for fine-tuned encoders. None if there are too many sentences
        or all are the same."""
        if not self.can_estimate([s for s in support if len(s)]):
            return None
        encoded = encoded or self.encode_once(base, support, labels)
        found = validate(encoded, self.config.adaptation, seed=seed, progress=progress)
        return None if found is None else found.of_tagger(encoded)
