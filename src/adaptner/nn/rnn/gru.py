"""Both directions of a GRU over packed sequences of several tasks, as one differentiable function.

``lstm_scan`` says why this is not ``nn.GRU``. As in PyTorch, the gates are in the order r, z, n, and the
reset acts after the recurrent product:

    n = tanh(W_in x + b_in + r * past),  past = W_hn h + b_hn,  h' = n + z * (h - n)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from adaptner.nn.rnn.bidirectional import BidirectionalLayer
from adaptner.nn.rnn.double_backward import differentiable_gradients
from adaptner.nn.rnn.packing import Packing
from adaptner.nn.rnn.parameters import fan_in_parameter


class BiGRU(BidirectionalLayer):
    """Gates r, z, n as in PyTorch, with a second bias inside the reset gate."""

    gates = 3

    def __init__(self, inputs: int, hidden: int, generator: Generator) -> None:
        super().__init__(inputs, hidden, generator)
        self.recurrent_bias = fan_in_parameter((1, 2, 3 * hidden), hidden, generator)

    def scan(self, inputs: Tensor, packing: Packing) -> Tensor:
        weight, bias = self.recurrent_weight.flatten(0, 1), self.recurrent_bias.flatten(0, 1)
        states = gru_scan(inputs, weight, bias, packing)
        return states.view(-1, 2, *states.shape[1:])


def gru_scan(
    gate_inputs: Tensor, recurrent: Tensor, recurrent_bias: Tensor, packing: Packing
) -> Tensor:
    """Hidden states (D, N, H) of D independent scans (tasks x directions).

    ``gate_inputs`` (D, N, 3H): W_ih x + b_ih at each slot; ``recurrent`` (D, 3H, H): W_hh;
    ``recurrent_bias`` (D, 3H): b_hh.
    """
    return _Scan.apply(gate_inputs, recurrent, recurrent_bias, packing)


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, gate_inputs: Tensor, recurrent: Tensor, recurrent_bias: Tensor, packing: Packing
    ) -> Tensor:
        # tanh x = 2 σ(2x) - 1 is several times faster than tanh: the inputs of n are doubled.
        hidden = recurrent.shape[-1]
        bias = recurrent_bias[:, None]
        past_bias = bias[..., 2 * hidden :]
        gates = gate_inputs.clone()
        gates[..., : 2 * hidden] += bias[..., : 2 * hidden]
        gates[..., 2 * hidden :] *= 2
        transposed = recurrent.transpose(1, 2)
        pasts = torch.empty_like(gates[..., :hidden])
        states = torch.empty_like(pasts)
        whole = (gates[..., : 2 * hidden], *gates.split(hidden, -1), pasts, states)
        steps = zip(*(t.split(packing.sizes, 1) for t in whole), strict=True)
        before = None
        for both, r, z, n, past, state in steps:
            if before is None:
                past.copy_(past_bias.expand_as(past))
            else:
                before = before[:, : state.shape[1]]
                # baddbmm_ into a slice would process the tasks one by one
                product = torch.bmm(before, transposed)
                both.add_(product[..., : 2 * hidden])
                torch.add(product[..., 2 * hidden :], past_bias, out=past)
            both.sigmoid_()
            n.addcmul_(r, past, value=2).sigmoid_().mul_(2).sub_(1)
            if before is None:
                torch.addcmul(n, n, z, value=-1, out=state)
            else:
                torch.lerp(n, before, z, out=state)
            before = state
        ctx.save_for_backward(gate_inputs, recurrent, recurrent_bias, gates, pasts, states)
        ctx.packing = packing
        return states

    @staticmethod
    def backward(ctx: Any, grad_states: Tensor) -> tuple[Tensor | None, ...]:
        gate_inputs, recurrent, recurrent_bias, gates, pasts, states = ctx.saved_tensors
        if torch.is_grad_enabled():
            # The caller will differentiate this gradient again (second-order outer gradient).
            inputs = (gate_inputs, recurrent, recurrent_bias)
            plain = plain_gru_scan(*inputs, ctx.packing)
            needed = ctx.needs_input_grad[:3]
            return (*differentiable_gradients(plain, inputs, needed, grad_states), None)
        packing = ctx.packing
        hidden = recurrent.shape[-1]
        r, z, n = gates.split(hidden, -1)
        first = packing.sizes[0]
        earlier = states.index_select(1, packing.previous)
        # The gradients of all gates are multiples of the gradient of the state. The factors do not
        # depend on the recursion, so they are computed for all steps at once and become the gradients
        # in place. ``grad_past`` is the gradient of W_hh h + b_hh, whose part n lies inside the reset;
        # ``by_new`` is for the part of n outside the reset.
        # x - x * y needs no temporary tensor, unlike x * (1 - y); new memory costs more than a sum.
        by_new = torch.addcmul(n.new_ones(()), n, n, value=-1)
        by_new.addcmul_(by_new, z, value=-1)
        grad_past = torch.empty_like(gates)
        by_r, by_z, by_n = grad_past.split(hidden, -1)
        torch.mul(by_new, r, out=by_n)
        torch.mul(by_n, pasts, out=by_r)
        by_r.addcmul_(by_r, r, value=-1)
        torch.neg(n, out=by_z)[:, first:].add_(earlier)
        by_z.mul_(z).addcmul_(by_z, z, value=-1)
        grad_states = grad_states.clone()
        whole = (grad_states, grad_past.unflatten(-1, (3, hidden)), grad_past, z)
        steps = zip(*(t.split(packing.sizes, 1) for t in whole), strict=True)
        following = None
        for grad_state, blocks, past, update in reversed(list(steps)):
            if following is not None:
                grad_state[:, : following.shape[1]] += following
            blocks.mul_(grad_state.unsqueeze(2))
            following = torch.bmm(past, recurrent).addcmul_(grad_state, update)
        grad_gates = torch.cat([grad_past[..., : 2 * hidden], by_new.mul_(grad_states)], -1)
        grad_recurrent = torch.bmm(grad_past[:, first:].transpose(1, 2), earlier)
        return grad_gates, grad_recurrent, grad_past.sum(1), None


def plain_gru_scan(
    gate_inputs: Tensor, recurrent: Tensor, recurrent_bias: Tensor, packing: Packing
) -> Tensor:
    """The states of ``gru_scan`` by ordinary operations, which can be differentiated any number of
    times."""
    transposed = recurrent.transpose(1, 2)
    bias = recurrent_bias[:, None]
    states: list[Tensor] = []
    for gate in gate_inputs.split(packing.sizes, 1):
        before = states[-1][:, : gate.shape[1]] if states else None
        past = bias if before is None else bias + torch.bmm(before, transposed)
        (r, z, n), (past_r, past_z, past_n) = gate.chunk(3, -1), past.chunk(3, -1)
        new = torch.tanh(n + (r + past_r).sigmoid() * past_n)
        update = (z + past_z).sigmoid()
        states.append((1 - update) * new if before is None else new + update * (before - new))
    return torch.cat(states, 1)
