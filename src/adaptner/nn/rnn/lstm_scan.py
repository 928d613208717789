"""Both directions of an LSTM over packed sequences of several tasks, as one differentiable function.

It replaces ``nn.LSTM`` because (1) the input projection runs once for every *distinct* symbol of a task
(word or character) instead of once for every token; (2) all directions and tasks, each with its own
weights, share the kernel calls of a step; (3) padding is hardly computed. ``benchmarks/meta_step.py``
measures the gain. The gates are in PyTorch's order i, f, g, o.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from adaptner.nn.rnn.double_backward import differentiable_gradients
from adaptner.nn.rnn.packing import Packing


def lstm_scan(gate_inputs: Tensor, recurrent: Tensor, packing: Packing) -> Tensor:
    """Hidden states (D, N, H) of D independent scans (tasks x directions).

    ``gate_inputs`` (D, N, 4H): W_ih x + b at each slot, overwritten if no gradient is needed;
    ``recurrent`` (D, 4H, H): W_hh.
    """
    return _Scan.apply(gate_inputs, recurrent, packing)


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate_inputs: Tensor, recurrent: Tensor, packing: Packing) -> Tensor:
        # tanh x = 2 σ(2x) - 1: with the inputs of g doubled, one sigmoid computes all four gates, and
        # it is several times faster than tanh.
        hidden = recurrent.shape[-1]
        candidate = slice(2 * hidden, 3 * hidden)
        gates = gate_inputs.clone() if any(ctx.needs_input_grad) else gate_inputs
        gates[..., candidate] *= 2
        transposed = recurrent.transpose(1, 2).clone(memory_format=torch.contiguous_format)
        transposed[..., candidate] *= 2
        cells = torch.empty_like(gates[..., :hidden])
        squashed = torch.empty_like(cells)
        states = torch.empty_like(cells)
        whole = (gates, *gates.split(hidden, -1), cells, squashed, states)
        steps = zip(*(t.split(packing.sizes, 1) for t in whole), strict=True)
        cell_before = state_before = None
        for gate, i, f, g, o, cell, squash, state in steps:
            if state_before is not None:
                size = gate.shape[1]
                # baddbmm_ into a slice would process the tasks one by one
                gate.add_(torch.bmm(state_before[:, :size], transposed))
            gate.sigmoid_()
            g.mul_(2).sub_(1)
            torch.mul(i, g, out=cell)
            if cell_before is not None:
                cell.addcmul_(f, cell_before[:, :size])
            torch.mul(cell, 2, out=squash).sigmoid_().mul_(2).sub_(1)
            torch.mul(o, squash, out=state)
            cell_before, state_before = cell, state
        ctx.save_for_backward(gate_inputs, recurrent, gates, cells, squashed, states)
        ctx.packing = packing
        return states

    @staticmethod
    def backward(ctx: Any, grad_states: Tensor) -> tuple[Tensor | None, ...]:
        gate_inputs, recurrent, gates, cells, squashed, states = ctx.saved_tensors
        if torch.is_grad_enabled():
            # The caller will differentiate this gradient again (second-order outer gradient).
            inputs = (gate_inputs, recurrent)
            plain = plain_scan(*inputs, ctx.packing)
            needed = ctx.needs_input_grad[:2]
            return (*differentiable_gradients(plain, inputs, needed, grad_states), None)
        packing = ctx.packing
        hidden = recurrent.shape[-1]
        i, f, g, o = gates.split(hidden, -1)
        first = packing.sizes[0]
        earlier_cells = torch.cat(
            [torch.zeros_like(cells[:, :first]), cells.index_select(1, packing.previous)], 1
        )
        # Everything that does not depend on the recursion is computed once, for all steps.
        by_cell = torch.empty_like(gates[..., : 3 * hidden]).unflatten(-1, (3, hidden))
        torch.mul(g, torch.addcmul(i, i, i, value=-1), out=by_cell[:, :, 0])
        torch.mul(earlier_cells, torch.addcmul(f, f, f, value=-1), out=by_cell[:, :, 1])
        torch.addcmul(i, i, g * g, value=-1, out=by_cell[:, :, 2])
        by_output = torch.addcmul(o, o, o, value=-1).mul_(squashed)
        through = torch.addcmul(o, o, squashed * squashed, value=-1)
        grad_gates = torch.empty_like(gates)
        split_gates = grad_gates.unflatten(-1, (4, hidden))
        whole = (
            *(grad_states.clone(), through, by_cell, by_output, f, grad_gates),
            *(split_gates[:, :, :3], split_gates[:, :, 3]),
        )
        steps = zip(*(t.split(packing.sizes, 1) for t in whole), strict=True)
        grad_cell_next = grad_state_next = None
        for grad_state, via, cell, output, forget, gate, by_c, by_o in reversed(list(steps)):
            if grad_state_next is not None:
                grad_state[:, : grad_state_next.shape[1]] += grad_state_next
            grad_cell = grad_state * via
            if grad_cell_next is not None:
                grad_cell[:, : grad_cell_next.shape[1]] += grad_cell_next
            torch.mul(grad_cell.unsqueeze(2), cell, out=by_c)
            torch.mul(grad_state, output, out=by_o)
            grad_cell_next = grad_cell.mul_(forget)
            grad_state_next = torch.bmm(gate, recurrent)
        grad_recurrent = torch.bmm(
            grad_gates[:, first:].transpose(1, 2), states.index_select(1, packing.previous)
        )
        return grad_gates, grad_recurrent, None


def plain_scan(gate_inputs: Tensor, recurrent: Tensor, packing: Packing) -> Tensor:
    """The states of ``lstm_scan`` by ordinary operations, which can be differentiated any number of
    times."""
    hidden = recurrent.shape[-1]
    transposed = recurrent.transpose(1, 2)
    states: list[Tensor] = []
    cell = None
    for gate in gate_inputs.split(packing.sizes, 1):
        size = gate.shape[1]
        if states:
            gate = gate + torch.bmm(states[-1][:, :size], transposed)
        i, f, g, o = gate.split(hidden, -1)
        new = i.sigmoid() * g.tanh()
        cell = new if cell is None else f.sigmoid() * cell[:, :size] + new
        states.append(o.sigmoid() * cell.tanh())
    return torch.cat(states, 1)
