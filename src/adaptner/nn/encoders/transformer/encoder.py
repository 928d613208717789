"""Any pretrained transformer of Hugging Face's ``transformers`` as the encoder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any, ClassVar, Literal

import torch
from torch import Generator, Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from adaptner.errors import BadConfiguration, EncoderUnusable
from adaptner.nn.batching.batch import Batch
from adaptner.nn.encoders.base import Encoder
from adaptner.nn.encoders.config import TransformerConfig
from adaptner.nn.encoders.transformer.fast_dropout import replace_dropout
from adaptner.nn.encoders.transformer.lora import add_lora
from adaptner.nn.encoders.transformer.stacked_parameters import stack_parameters
from adaptner.nn.encoders.transformer.subwords import SubwordBatch, SubwordBatcher
from adaptner.nn.encoders.transformer.window_attention import pack_windows
from adaptner.nn.rnn.parameters import dropout

# Padded windows are run together if none is shorter than this share of the longest: padding costs time.
MIN_LENGTH_RATIO = 0.75
# Families whose positions begin after the id of the padding
_LATE_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet")
_LAYER = re.compile(r"\.(?:layers?|h|blocks?)\.(\d+)\.")
_RUNNING = RLock()  # parameters are swapped during a run, so one thread at a time


class TransformerEncoder(Encoder):
    kind: ClassVar[Literal["transformer"]] = "transformer"
    side_by_side: ClassVar[bool] = False

    def __init__(
        self, config: TransformerConfig, batcher: SubwordBatcher, generator: Generator
    ) -> None:
        super().__init__()
        self.config = config
        network: nn.Module = batcher.pretrained.network()
        if getattr(network, "pooler", None) is not None:
            network.pooler = None  # type: ignore[assignment]
        settings: Any = network.config
        _check_length(settings, config)
        words = network.get_input_embeddings()  # type: ignore[operator]
        if type(words) is not nn.Embedding:
            raise EncoderUnusable(
                file=config.name, reason="its word embeddings are not a plain table"
            )
        place = next(name for name, module in network.named_modules() if module is words)
        self._words = f"{place}.weight"
        self.width: int = settings.hidden_size
        self._layers: int = settings.num_hidden_layers
        self._packed = batcher.pretrained.packed
        self._first_position: int = _first_position(settings)
        replace_dropout(network)
        network.eval()
        if config.lora:
            add_lora(network, config.lora, config.lora_alpha, config.lora_targets, generator)
        learned = [name for name, p in network.named_parameters() if p.requires_grad]
        if config.frozen_layers:
            learned = self._above_frozen(config.frozen_layers, learned)
        inputs = {"window_lengths": [2]} if self._packed else {}
        stack_parameters(network, _used_parameters(network, words, learned, inputs))
        self.network = network
        if config.layer_decay < 1 and not any(_LAYER.search(f".{name}") for name in learned):
            reason = "the layers of this network have no numbers (it may share them)"
            raise BadConfiguration(field="encoder.layer_decay", reason=reason)

    @property
    def table(self) -> str | None:
        learned = self._words in dict(self.network.named_parameters())
        return f"network.{self._words}" if learned else None

    def _above_frozen(self, frozen: int, learned: Sequence[str]) -> list[str]:
        """The names in ``learned`` that belong neither to the embeddings nor to the ``frozen`` lowest
        layers."""
        number = {name: int(n[1]) for name in learned if (n := _LAYER.search(f".{name}"))}
        if not number or frozen >= self._layers:
            reason = (
                f"the network has {self._layers} layers, and at least one must be trained"
                if number
                else "the layers of this network have no numbers (it may share them)"
            )
            raise BadConfiguration(field="encoder.frozen_layers", reason=reason)
        first = next(place for place, name in enumerate(learned) if name in number)
        return [name for name in learned[first:] if number.get(name, frozen) >= frozen]

    def rates(self) -> dict[nn.Parameter, float]:
        """1 for the top layer, times ``layer_decay`` for each layer below, lowest for the embeddings."""
        if self.config.layer_decay == 1:
            return {}
        factors: dict[nn.Parameter, float] = {}
        above = self._layers  # number of layers above
        for name, p in self.network.named_parameters():
            if layer := _LAYER.search(f".{name}"):
                above = self._layers - 1 - int(layer[1])
            elif above < self._layers:
                above = 0  # after the layers
            factors[p] = self.config.layer_decay**above
        return factors

    def forward(self, batch: Batch, noise: Generator | None = None) -> Tensor:
        assert isinstance(batch, SubwordBatch)
        parameters = dict(self.network.named_parameters())
        tasks = len(batch.rows)
        states = []
        for g in range(tasks):
            # Indexing would copy the parameters in the backward pass, squeezing does not.
            of_task = {n: p.squeeze(0) if tasks == 1 else p[g] for n, p in parameters.items()}
            states.append(self._task(of_task, batch, g, noise))
        return dropout(torch.stack(states), self.config.dropout, noise)

    def _task(
        self, parameters: Mapping[str, Tensor], batch: SubwordBatch, g: int, noise: Generator | None
    ) -> Tensor:
        """States (B, L, width) of task ``g``."""
        hidden, owners = [], []
        group = pack_windows if self._packed else similar_length_ranges
        for first, end in group(batch.lengths[g]):
            lengths = batch.lengths[g][first:end]
            longest = lengths[0]
            steps = torch.arange(longest, device=batch.rows.device)
            real = steps < torch.tensor(lengths, device=steps.device)[:, None]
            rows, owner = (part[g, first:end, :longest] for part in (batch.rows, batch.owner))
            if self._packed:
                places = steps.expand(len(lengths), -1)[real][None]
                inputs = {"position_ids": places + self._first_position, "window_lengths": lengths}
                rows, owner = rows[real][None], owner[real]
            else:
                inputs = {"attention_mask": real.long()}
            hidden.append(self._run(parameters, rows, inputs, noise).flatten(0, 1))
            owners.append(owner.flatten())
        _, sentences, length = batch.mask.shape
        blank = hidden[0].new_zeros(sentences * length + 1, self.width)
        sums = blank.index_add(0, torch.cat(owners), torch.cat(hidden))[:-1]
        states = sums.view(sentences, length, self.width)
        return states / batch.parts[g, ..., None].to(states.dtype)

    def _run(
        self,
        parameters: Mapping[str, Tensor],
        rows: Tensor,
        inputs: Mapping[str, Any],
        noise: Generator | None,
    ) -> Tensor:
        """States (N, S, width) of the sub-words ``rows`` (N, S); ``inputs`` are further arguments of the
        network."""
        seed = None
        if noise is not None and self.config.network_dropout:
            seed = int(torch.randint(2**62, (), generator=noise, device=noise.device))

        def run() -> Tensor:
            table = parameters.get(self._words)
            if table is None:
                table = self.network.get_buffer(self._words)
            with _RUNNING, _dropout_inside(self.network, seed):
                embedded = {"inputs_embeds": F.embedding(rows, table), **inputs}
                output = functional_call(self.network, dict(parameters), (), embedded)
            return output.last_hidden_state

        if self.config.checkpointing and torch.is_grad_enabled():
            # whole windows, not layers, because the second run must swap the parameters again
            return checkpoint(run, use_reentrant=False, preserve_rng_state=False)
        return run()


def _first_position(settings: Any) -> int:
    return (settings.pad_token_id or 0) + 1 if settings.model_type in _LATE_POSITIONS else 0


def _check_length(settings: Any, config: TransformerConfig) -> None:
    most = getattr(settings, "max_position_embeddings", None) or -1
    most -= _first_position(settings)
    if 0 < most < config.max_length:
        reason = f"it reads at most {most} sub-words, but max_length is {config.max_length}"
        raise EncoderUnusable(file=config.name, reason=reason)


def similar_length_ranges(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(first, end) of the windows that are run together; ``lengths`` are descending."""
    first = 0
    for place in range(1, len(lengths) + 1):
        if place == len(lengths) or lengths[place] < MIN_LENGTH_RATIO * lengths[first]:
            yield first, place
            first = place


@contextmanager
def _dropout_inside(network: nn.Module, seed: int | None) -> Iterator[None]:
    """Enable dropout in the network with ``seed``. It uses PyTorch's global generators, whose state is
    restored; on MPS it is not."""
    if seed is None:
        yield
        return
    device = next(network.parameters()).device
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        network.train()
        try:
            yield
        finally:
            network.eval()


def _used_parameters(
    network: nn.Module, words: nn.Embedding, learned: Sequence[str], inputs: Mapping[str, Any]
) -> set[str]:
    """The names in ``learned`` that the states depend on; the others would have no gradient. ``inputs`` are
    further arguments of the network for two sub-words."""
    parameters = dict(network.named_parameters())
    embedded = words(torch.tensor([[0, 1]], device=words.weight.device))
    states = network(inputs_embeds=embedded, **inputs).last_hidden_state
    trained = [parameters[name] for name in learned]
    gradients = torch.autograd.grad(states.square().sum(), trained, allow_unused=True)
    return {name for name, g in zip(learned, gradients, strict=True) if g is not None}
