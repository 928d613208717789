"""MetaNER: meta-learning across a split of the source domains, with an adversary (Algorithm 1).

In each iteration one source domain stands for an unseen one (meta-validation) and the others are
learnt from (meta-training). The ablations are settings: ``adversary``, ``meta``, ``new_only``,
``maml_update`` and, without the character CNN, ``encoder.char_cnn_filters = 0``.
"""

from __future__ import annotations

from pydantic import Field

from adaptner.bilevel import DomainBatch, DomainSplit, equal_weights
from adaptner.episodes import TaskSource
from adaptner.methods.base import Capabilities
from adaptner.methods.families.source_pretrained import (
    FitContext,
    Iteration,
    SourceConfig,
    SourcePretrainedMethod,
    step_metrics,
)
from adaptner.methods.families.supervised import joint_iteration
from adaptner.nn.encoders.config import AnyEncoderConfig, EncoderConfig
from adaptner.nn.model import ModelShape, Parameters
from adaptner.training.loop import StepMetrics
from adaptner.training.optimiser import OptimiserConfig
from adaptner.types import TagScheme

# Section 5.1.2: character CNN with 25 filters of each width, BiGRU 128, GloVe tuned, dropout 0.5.
ENCODER = EncoderConfig(
    word_width=300,
    tune_words=True,
    char_embedding=100,
    char_cnn_widths=(2, 3, 4, 5),
    char_cnn_filters=25,
    char_lstm=0,
    recurrent="gru",
    hidden=128,
    dropout=0.5,
)


class MetaNERConfig(SourceConfig):
    """The values of section 5.1.2 and, where it has none, those of the rulings
    (docs/methods/metaner.md)."""

    scheme: TagScheme = "bioes"
    inner_rate: float = Field(1e-4, gt=0, description="Rate α of the inner loop (eqs 17 and 18).")
    inner_steps: int = Field(1, ge=1, description="Meta-training tasks in a chain.")
    # The paper names no optimiser; its β of 1e-3 is Adam's usual rate, not that of plain descent.
    optimiser: OptimiserConfig = OptimiserConfig(name="adamw", rate=1e-3)
    aux_weight: float = Field(
        0.8, ge=0, description="Weight λ of the discriminator (eqs 14, 18 and 20)."
    )
    adversary: bool = Field(
        True, description="Train a domain discriminator behind a gradient reversal."
    )
    meta: bool = Field(
        True, description="Meta-learning; otherwise supervised learning with the same losses."
    )
    new_only: bool = Field(False, description="Use θ(new) where eq. 19 has θ(old).")
    maml_update: bool = Field(
        False, description="Update θ by the meta-validation loss instead of eq. 20."
    )
    encoder: AnyEncoderConfig = ENCODER

    def shape(self) -> ModelShape:
        return self.model_shape("attention" if self.adversary else "none", self.adversary)


class MetaNER(SourcePretrainedMethod):
    name = "metaner"
    title = "MetaNER"
    paper = "MetaNER"
    needs = "two or more source domains"
    capabilities = Capabilities(early_stopping=True)
    Config = MetaNERConfig
    config: MetaNERConfig

    def min_domains(self) -> int:
        return 2

    def iteration(self, context: FitContext) -> Iteration:
        config, model, rng = self.config, context.model, context.state.rng
        if not config.meta:
            return joint_iteration(context, config, config.aux_weight)
        tasks = TaskSource([d.corpora for d in context.sources], config.k)
        split = DomainSplit(
            config.inner_rate, config.aux_weight, config.new_only, config.maml_update
        )

        def iterate(iteration: int) -> StepMetrics:
            validation = rng.randrange(len(context.sources))  # line 3: D_val; the others are D_tr
            training = [d for d in range(len(context.sources)) if d != validation]
            # Lines 6 and 9: each chain has a meta-validation task and inner_steps meta-training tasks.
            domains = [
                [validation] * config.tasks,
                *(
                    [rng.choice(training) for _ in range(config.tasks)]
                    for _ in range(config.inner_steps)
                ),
            ]
            drawn = [([tasks.sample_sentences(d, rng) for d in each], each) for each in domains]
            batches, rows = context.batches(*drawn)
            domain_batches = [
                DomainBatch(
                    context.loss_function(batch, own, config, config.aux_weight),
                    _without_theta(model.stack_tasks(own, rows)),
                )
                for batch, own in zip(batches, domains, strict=True)
            ]
            theta = {n: p for n, p in model.stack_tasks(domains[0], rows).items() if _is_theta(n)}
            step = split(domain_batches[1:], domain_batches[0], theta)
            model.add_gradients(domains[0], step.gradients, equal_weights(step.losses), rows)
            return step_metrics(step.losses, held_out=float(validation))

        return iterate


def _is_theta(name: str) -> bool:
    return name.startswith("encoder.")


def _without_theta(parameters: Parameters) -> Parameters:
    return {n: p for n, p in parameters.items() if not _is_theta(n)}
