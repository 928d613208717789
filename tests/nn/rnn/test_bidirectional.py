"""The LSTM and GRU scans against torch.nn and against plain operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from builders import random_tensor
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from adaptner.nn.rnn.bidirectional import BiLSTM
from adaptner.nn.rnn.gru import BiGRU, gru_scan, plain_gru_scan
from adaptner.nn.rnn.lstm_scan import lstm_scan, plain_scan
from adaptner.nn.rnn.packing import Packing

INPUTS, HIDDEN, SYMBOLS = 3, 4, 5
LENGTHS = torch.tensor([[5, 3, 1], [2, 2, 2], [4, 1, 1]])  # three tasks, one with no ragged end
WIDTH = 6


@dataclass(frozen=True)
class Scan:
    quick: Callable[..., Tensor]
    plain: Callable[..., Tensor]
    gates: int
    biased: bool  # has a second bias inside the recursion

    def inputs(self, packing: Packing, hidden: int = HIDDEN) -> list[Tensor]:
        scans, rows = 2 * len(packing.lengths), self.gates * hidden
        shapes = [(scans, sum(packing.sizes), rows), (scans, rows, hidden), (scans, rows)]
        return [
            random_tensor(*shape, seed=number + 1).requires_grad_()
            for number, shape in enumerate(shapes[: 2 + self.biased])
        ]


LSTM = Scan(lstm_scan, plain_scan, gates=4, biased=False)
GRU = Scan(gru_scan, plain_gru_scan, gates=3, biased=True)
both_scans = pytest.mark.parametrize("scan", [LSTM, GRU], ids=["lstm", "gru"])


def packing_of(lengths: Tensor) -> Packing:
    return Packing.of(lengths, int(lengths.max()))


@both_scans
@pytest.mark.parametrize(
    "lengths",
    [LENGTHS, LENGTHS[:1], LENGTHS[1:2], torch.tensor([[7, 1], [1, 1]]), torch.ones(2, 3).long()],
    ids=["ragged tasks", "one task", "equal lengths", "one long sequence", "one step"],
)
def test_scan_equals_plain_scan_in_values_and_gradients(scan, lengths):
    packing = packing_of(lengths)
    inputs = scan.inputs(packing)
    quick, plain = scan.quick(*inputs, packing), scan.plain(*inputs, packing)
    torch.testing.assert_close(quick, plain, atol=1e-12, rtol=0)
    pull = random_tensor(*quick.shape, seed=4)
    torch.testing.assert_close(
        torch.autograd.grad(quick, inputs, pull),
        torch.autograd.grad(plain, inputs, pull, materialize_grads=True),
        atol=1e-11,
        rtol=0,
    )


@both_scans
def test_scan_passes_gradcheck_and_gradgradcheck(scan):
    packing = packing_of(torch.tensor([[3, 1]]))
    inputs = scan.inputs(packing, hidden=2)
    assert torch.autograd.gradcheck(lambda *x: scan.quick(*x, packing), inputs)
    assert torch.autograd.gradgradcheck(lambda *x: scan.quick(*x, packing), inputs)


@both_scans
def test_gradient_is_the_same_with_and_without_a_graph(scan):
    packing = packing_of(LENGTHS)
    inputs = scan.inputs(packing)
    pull = random_tensor(6, sum(packing.sizes), HIDDEN, seed=4)
    once = torch.autograd.grad(scan.quick(*inputs, packing), inputs, pull)
    again = torch.autograd.grad(scan.quick(*inputs, packing), inputs, pull, create_graph=True)
    torch.testing.assert_close(once, again, atol=1e-11, rtol=0)
    assert all(not x.requires_grad for x in once)
    assert all(x.requires_grad for x in again)


@both_scans
def test_backward_does_not_change_inputs_or_saved_tensors(scan):
    """A second backward pass through the same graph gives the same gradient."""
    packing = packing_of(LENGTHS)
    inputs = scan.inputs(packing)
    kept = [x.detach().clone() for x in inputs]
    states = scan.quick(*inputs, packing)
    pull = random_tensor(*states.shape, seed=4)
    pull_kept = pull.clone()
    once = torch.autograd.grad(states, inputs, pull, retain_graph=True)
    again = torch.autograd.grad(states, inputs, pull)
    torch.testing.assert_close(once, again, atol=0, rtol=0)
    torch.testing.assert_close([x.detach() for x in inputs], kept, atol=0, rtol=0)
    torch.testing.assert_close(pull, pull_kept, atol=0, rtol=0)


@both_scans
def test_sequences_of_one_step_can_be_differentiated_twice(scan):
    """The recurrent weights are then unused; their gradient is zero."""
    packing = packing_of(torch.ones(2, 3, dtype=torch.long))
    inputs = scan.inputs(packing)
    states = scan.quick(*inputs, packing)
    by_gates, by_recurrent, *_ = torch.autograd.grad(states.sum(), inputs, create_graph=True)
    assert by_recurrent.abs().max() == 0
    (second,) = torch.autograd.grad(by_gates.square().sum(), inputs[0])
    assert second.abs().max() > 0


@pytest.mark.parametrize(
    ("scan", "learning"),
    [
        *((LSTM, chosen) for chosen in [(0,), (1,)]),
        *((GRU, chosen) for chosen in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]),
    ],
)
def test_inputs_may_be_frozen(scan, learning):
    """All inputs but the ``learning`` ones, with and without differentiating the gradient."""
    packing = packing_of(LENGTHS)
    inputs = scan.inputs(packing)
    expected = torch.autograd.grad(scan.plain(*inputs, packing).sum(), inputs)
    mixed = [x if n in learning else x.detach() for n, x in enumerate(inputs)]
    for through in (False, True):
        states = scan.quick(*mixed, packing)
        wanted = [mixed[n] for n in learning]
        found = torch.autograd.grad(states.sum(), wanted, create_graph=through)
        torch.testing.assert_close(found, tuple(expected[n] for n in learning))


def references(layer: BiLSTM | BiGRU) -> list[nn.LSTM | nn.GRU]:
    """A torch.nn layer for each task, with the same weights. Our LSTM's one bias is the sum of
    PyTorch's two."""
    kind = nn.LSTM if isinstance(layer, BiLSTM) else nn.GRU
    found = []
    for g in range(len(layer.bias)):
        own = kind(INPUTS, HIDDEN, batch_first=True, bidirectional=True).double()
        with torch.no_grad():
            for d, suffix in enumerate(("", "_reverse")):
                getattr(own, f"weight_ih_l0{suffix}").copy_(layer.input_weight[g, d])
                getattr(own, f"weight_hh_l0{suffix}").copy_(layer.recurrent_weight[g, d])
                getattr(own, f"bias_ih_l0{suffix}").copy_(layer.bias[g, d])
                getattr(own, f"bias_hh_l0{suffix}").copy_(
                    layer.recurrent_bias[g, d] if isinstance(layer, BiGRU) else 0
                )
        found.append(own)
    return found


def layer_of(kind: type[BiLSTM] | type[BiGRU], tasks: int) -> BiLSTM | BiGRU:
    """A layer with different parameters for each task."""
    layer = kind(INPUTS, HIDDEN, torch.Generator().manual_seed(0)).double()
    for number, (name, p) in enumerate(list(layer.named_parameters())):
        setattr(layer, name, nn.Parameter(random_tensor(tasks, *p.shape[1:], seed=10 + number)))
    return layer


@pytest.mark.parametrize("kind", [BiLSTM, BiGRU])
def test_layer_equals_torch_on_packed_sequences(kind):
    """Values and all gradients, with symbols that occur several times."""
    tasks, batch = LENGTHS.shape
    layer = layer_of(kind, tasks)
    symbols = random_tensor(tasks, SYMBOLS, INPUTS, seed=1).requires_grad_()
    index = torch.randint(
        SYMBOLS, (tasks, batch, WIDTH), generator=torch.Generator().manual_seed(2)
    )
    packing = Packing.of(LENGTHS, WIDTH)
    mask = torch.arange(WIDTH) < LENGTHS[..., None]
    pull = random_tensor(tasks, batch, WIDTH, 2 * HIDDEN, seed=3) * mask[..., None]

    ours = packing.unpack(layer(symbols, index, packing)) * mask[..., None]
    names = [n for n, _ in layer.named_parameters()]
    our_gradients = dict(
        zip(
            ["symbols", *names],
            torch.autograd.grad(ours, [symbols, *layer.parameters()], pull),
            strict=True,
        )
    )
    part = {
        "input_weight": "weight_ih_l0",
        "recurrent_weight": "weight_hh_l0",
        "bias": "bias_ih_l0",
        "recurrent_bias": "bias_hh_l0",
    }
    for g, reference in enumerate(references(layer)):
        own = symbols[g].detach().requires_grad_()
        packed = pack_padded_sequence(own[index[g]], LENGTHS[g], batch_first=True)
        states, _ = pad_packed_sequence(reference(packed)[0], batch_first=True, total_length=WIDTH)
        torch.testing.assert_close(ours[g], states, atol=1e-12, rtol=0)
        states.backward(pull[g])
        torch.testing.assert_close(our_gradients["symbols"][g], own.grad)
        for name in names:
            for d, suffix in enumerate(("", "_reverse")):
                truth = getattr(reference, part[name] + suffix).grad
                torch.testing.assert_close(our_gradients[name][g, d], truth, msg=f"{name}{suffix}")


@pytest.mark.parametrize("kind", [BiLSTM, BiGRU])
def test_tasks_at_once_equal_separate_runs(kind):
    tasks, batch = LENGTHS.shape
    layer = layer_of(kind, tasks)
    symbols = random_tensor(tasks, SYMBOLS, INPUTS, seed=1)
    index = torch.randint(
        SYMBOLS, (tasks, batch, WIDTH), generator=torch.Generator().manual_seed(2)
    )
    packing = Packing.of(LENGTHS, WIDTH)
    together = packing.unpack(layer(symbols, index, packing))
    for g in range(tasks):
        single = Packing.of(LENGTHS[g : g + 1], WIDTH)
        own = torch.func.functional_call(
            layer,
            {n: p[g : g + 1] for n, p in layer.named_parameters()},
            (symbols[g : g + 1], index[g : g + 1], single),
        )
        mask = torch.arange(WIDTH) < LENGTHS[g][:, None]
        torch.testing.assert_close(
            together[g][mask], single.unpack(own)[0][mask], atol=1e-12, rtol=0
        )


@pytest.mark.parametrize("through", [False, True], ids=["first order", "second order"])
def test_tasks_with_one_expanded_weight_equal_tasks_with_copies_of_it(through):
    """The expanded weight is that of the start of an inner loop, which is scanned jointly."""
    tasks, batch = LENGTHS.shape
    layer = layer_of(BiLSTM, 1)
    symbols = random_tensor(tasks, SYMBOLS, INPUTS, seed=1)
    index = torch.randint(
        SYMBOLS, (tasks, batch, WIDTH), generator=torch.Generator().manual_seed(2)
    )
    packing = Packing.of(LENGTHS, WIDTH)
    mask = torch.arange(WIDTH) < LENGTHS[..., None]
    pull = random_tensor(tasks, batch, WIDTH, 2 * HIDDEN, seed=3) * mask[..., None]
    expanded = {n: p.detach().expand(tasks, *p.shape[1:]) for n, p in layer.named_parameters()}
    results = []
    for weights in (expanded, {n: p.clone() for n, p in expanded.items()}):
        leaves = [
            symbols.detach().requires_grad_(),
            *(p.requires_grad_() for p in weights.values()),
        ]
        parameters = dict(zip(weights, leaves[1:], strict=True))
        packed = torch.func.functional_call(layer, parameters, (leaves[0], index, packing))
        states = packing.unpack(packed) * mask[..., None]
        gradients = torch.autograd.grad(states, leaves, pull, create_graph=through)
        if through:
            curvature = sum((g.square()).sum() for g in gradients)
            gradients += torch.autograd.grad(curvature, leaves)
        results.append([states, *gradients])
    torch.testing.assert_close(*results, atol=1e-11, rtol=0)
