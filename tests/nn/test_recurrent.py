"""Our scans against torch.nn's packed LSTM and GRU, and against themselves step by step."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from adaptner.nn.lstm_scan import lstm_scan, plain_scan
from adaptner.nn.packing import Packing
from adaptner.nn.recurrent import BiGRU, BiLSTM

INPUTS, HIDDEN, SYMBOLS = 3, 4, 5
LENGTHS = torch.tensor([[5, 3, 1], [2, 2, 2], [4, 1, 1]])  # three tasks, one with no ragged end
WIDTH = 6


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def scan_inputs(lengths: Tensor = LENGTHS) -> tuple[Tensor, Tensor, Packing]:
    packing = Packing.of(lengths, int(lengths.max()))
    scans = 2 * len(lengths)
    gates = random(scans, sum(packing.sizes), 4 * HIDDEN, seed=1).requires_grad_()
    recurrent = random(scans, 4 * HIDDEN, HIDDEN, seed=2).requires_grad_()
    return gates, recurrent, packing


def test_scan_equals_plain_scan_in_values_and_gradients() -> None:
    gates, recurrent, packing = scan_inputs()
    quick, plain = lstm_scan(gates, recurrent, packing), plain_scan(gates, recurrent, packing)
    torch.testing.assert_close(quick, plain, atol=1e-12, rtol=0)
    pull = random(*quick.shape, seed=3)
    torch.testing.assert_close(
        torch.autograd.grad(quick, (gates, recurrent), pull),
        torch.autograd.grad(plain, (gates, recurrent), pull),
        atol=1e-11,
        rtol=0,
    )


def small_scan() -> tuple[Tensor, Tensor, Packing]:
    packing = Packing.of(torch.tensor([[3, 1]]), 3)
    gates = random(2, 4, 4 * 2, seed=1).requires_grad_()
    return gates, random(2, 4 * 2, 2, seed=2).requires_grad_(), packing


def test_scan_passes_gradcheck_and_gradgradcheck() -> None:
    gates, recurrent, packing = small_scan()
    assert torch.autograd.gradcheck(lambda g, r: lstm_scan(g, r, packing), (gates, recurrent))
    assert torch.autograd.gradgradcheck(lambda g, r: lstm_scan(g, r, packing), (gates, recurrent))


def test_gradient_is_the_same_whether_or_not_it_will_be_differentiated() -> None:
    gates, recurrent, packing = scan_inputs()
    pull = random(6, sum(packing.sizes), HIDDEN, seed=4)
    once = torch.autograd.grad(lstm_scan(gates, recurrent, packing), (gates, recurrent), pull)
    again = torch.autograd.grad(
        lstm_scan(gates, recurrent, packing), (gates, recurrent), pull, create_graph=True
    )
    torch.testing.assert_close(once, again, atol=1e-11, rtol=0)
    assert all(not x.requires_grad for x in once)
    assert all(x.requires_grad for x in again)


def test_sequences_of_one_step_can_be_differentiated_twice() -> None:
    """The recurrent weights then play no part: their gradient is zero, not an error."""
    gates, recurrent, packing = scan_inputs(torch.ones(2, 3, dtype=torch.long))
    states = lstm_scan(gates, recurrent, packing)
    by_gates, by_recurrent = torch.autograd.grad(
        states.sum(), (gates, recurrent), create_graph=True
    )
    assert by_recurrent.abs().max() == 0
    (second,) = torch.autograd.grad(by_gates.square().sum(), gates)
    assert second.abs().max() > 0


@pytest.mark.parametrize("frozen", ["gates", "recurrent"])
def test_one_input_may_be_frozen(frozen: str) -> None:
    gates, recurrent, packing = scan_inputs()
    expected = torch.autograd.grad(plain_scan(gates, recurrent, packing).sum(), (gates, recurrent))
    if frozen == "gates":
        gates, wanted, truth = gates.detach(), recurrent, expected[1]
    else:
        recurrent, wanted, truth = recurrent.detach(), gates, expected[0]
    for through in (False, True):
        states = lstm_scan(gates, recurrent, packing)
        (found,) = torch.autograd.grad(states.sum(), [wanted], create_graph=through)
        torch.testing.assert_close(found, truth)


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
    """A layer whose parameters differ from task to task."""
    layer = kind(INPUTS, HIDDEN, torch.Generator().manual_seed(0)).double()
    for number, (name, p) in enumerate(list(layer.named_parameters())):
        setattr(layer, name, nn.Parameter(random(tasks, *p.shape[1:], seed=10 + number)))
    return layer


@pytest.mark.parametrize("kind", [BiLSTM, BiGRU])
def test_layer_equals_torch_on_packed_sequences(kind: type[BiLSTM] | type[BiGRU]) -> None:
    """Values and the gradients of everything, with symbols that occur several times."""
    tasks, batch = LENGTHS.shape
    layer = layer_of(kind, tasks)
    symbols = random(tasks, SYMBOLS, INPUTS, seed=1).requires_grad_()
    index = torch.randint(
        SYMBOLS, (tasks, batch, WIDTH), generator=torch.Generator().manual_seed(2)
    )
    packing = Packing.of(LENGTHS, WIDTH)
    mask = torch.arange(WIDTH) < LENGTHS[..., None]
    pull = random(tasks, batch, WIDTH, 2 * HIDDEN, seed=3) * mask[..., None]

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
def test_tasks_side_by_side_equal_separate_runs(kind: type[BiLSTM] | type[BiGRU]) -> None:
    tasks, batch = LENGTHS.shape
    layer = layer_of(kind, tasks)
    symbols = random(tasks, SYMBOLS, INPUTS, seed=1)
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
