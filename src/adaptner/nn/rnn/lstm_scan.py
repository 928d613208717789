"""Both directions of an LSTM over packed sequences of several tasks, as one differentiable function.

It replaces ``nn.LSTM`` because (1) the input projection runs once for every *distinct* symbol of a task
(word or character) instead of once for every token; (2) all directions and tasks, each with its own
weights, share the kernel calls of a step; (3) padding is hardly computed; (4) tasks that all have the
same weights are scanned as one, still with the gradient of each. ``benchmarks/meta_step.py`` measures the
gain. The gates are in PyTorch's order i, f, g, o.
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
    ``recurrent`` (D, 4H, H): W_hh. If all tasks have the same W_hh, ``gate_inputs`` may be (2, N', 4H),
    those of ``packing.joint``: the sequences of all tasks are then scanned together. The gradient is
    still that of each task.
    """
    return _Scan.apply(gate_inputs, recurrent, packing)


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate_inputs: Tensor, recurrent: Tensor, packing: Packing) -> Tensor:
        # tanh x = 2 σ(2x) - 1: with the inputs of g doubled, one sigmoid computes all four gates, and
        # it is several times faster than tanh.
        hidden = recurrent.shape[-1]
        scans = len(gate_inputs)
        run = packing if scans == len(recurrent) else packing.joint
        gates = torch.empty_like(gate_inputs) if any(ctx.needs_input_grad) else gate_inputs
        transposed = recurrent[:scans].mT.contiguous()
        cells = torch.empty_like(gates[..., :hidden])
        squashed = torch.empty_like(cells)
        states = torch.empty_like(cells)
        # An operation on a tensor and a Python number takes a microsecond longer.
        two, minus_one = gates.new_tensor(2), gates.new_tensor(-1)
        whole = (gate_inputs, gates, *gates.split(hidden, -1), cells, squashed, states)
        steps = zip(*(t.split(run.sizes, 1) for t in whole), strict=True)
        cell_before = state_before = None
        for given, gate, i, f, g, o, cell, squash, state in steps:
            if state_before is None:
                gate.copy_(given)
            else:
                size = gate.shape[1]
                # baddbmm into a slice would process the tasks one by one
                torch.add(given, torch.bmm(state_before[:, :size], transposed), out=gate)
            g.mul_(two)
            gate.sigmoid_()
            torch.add(minus_one, g, alpha=2, out=g)
            torch.mul(i, g, out=cell)
            if cell_before is not None:
                cell.addcmul_(f, cell_before[:, :size])
            torch.mul(cell, two, out=squash).sigmoid_()
            torch.add(minus_one, squash, alpha=2, out=squash)
            torch.mul(o, squash, out=state)
            cell_before, state_before = cell, state
        ctx.save_for_backward(gate_inputs, recurrent, gates, cells, squashed, states)
        ctx.packing, ctx.run = packing, run
        return states if run is packing else _apart(states, packing)

    @staticmethod
    def backward(ctx: Any, grad_states: Tensor) -> tuple[Tensor | None, ...]:
        gate_inputs, recurrent, gates, cells, squashed, states = ctx.saved_tensors
        packing, run = ctx.packing, ctx.run
        if torch.is_grad_enabled():
            # The caller will differentiate this gradient again (second-order outer gradient).
            inputs = (gate_inputs, recurrent)
            plain = plain_scan(*inputs, packing)
            needed = ctx.needs_input_grad[:2]
            return (*differentiable_gradients(plain, inputs, needed, grad_states), None)
        hidden = recurrent.shape[-1]
        if run is packing:
            grad_states = grad_states.clone()
        else:
            places = run.slots.flatten()
            grad_states = grad_states.flatten(0, 1).index_select(0, places).view_as(states)
        i, f, g, o = gates.split(hidden, -1)
        first = run.sizes[0]
        # The gradients of the gates are multiples of those of the cell (i, f, g) and of the state (o). The
        # factors do not depend on the recursion, so they are computed for all steps at once and become
        # the gradients in place.
        grad_gates = torch.addcmul(gates, gates, gates, value=-1)
        by_i, by_f, by_g, by_o = grad_gates.split(hidden, -1)
        by_i.mul_(g)
        by_f[:, :first] = 0
        by_f[:, first:].mul_(cells.index_select(1, run.previous))
        torch.addcmul(i, i, g.square(), value=-1, out=by_g)
        by_o.mul_(squashed)
        through = torch.addcmul(o, o, squashed.square(), value=-1)
        blocks = grad_gates[..., : 3 * hidden].unflatten(-1, (3, hidden))
        whole = (grad_states, through, f, grad_gates, blocks, by_o)
        steps = zip(*(t.split(run.sizes, 1) for t in whole), strict=True)
        weight = recurrent[: len(gates)]
        grad_cell_next = grad_state_next = None
        for grad_state, via, forget, gate, by_cell, by_state in reversed(list(steps)):
            if grad_state_next is not None:
                # `+=` on a slice would copy the sum onto itself
                grad_state[:, : grad_state_next.shape[1]].add_(grad_state_next)
            grad_cell = via.mul_(grad_state)
            if grad_cell_next is not None:
                grad_cell[:, : grad_cell_next.shape[1]].add_(grad_cell_next)
            by_cell.mul_(grad_cell.unsqueeze(2))
            by_state.mul_(grad_state)
            grad_cell_next = grad_cell.mul_(forget)
            grad_state_next = torch.bmm(gate, weight)
        later, earlier = grad_gates[:, first:], states.index_select(1, run.previous)
        if run is packing:
            return grad_gates, torch.bmm(later.mT, earlier), None
        of_tasks = [torch.bmm(later[:, own].mT, earlier[:, own]) for own in run.by_task]
        return grad_gates, torch.cat(of_tasks), None


def _apart(joint: Tensor, packing: Packing) -> Tensor:
    """The values (2, N', width) of joint slots in the slots of the tasks, (D, N, width); zero elsewhere."""
    rows, width = 2 * packing.shape[0] * sum(packing.sizes), joint.shape[-1]
    placed = joint.new_zeros(rows, width)
    placed = placed.index_copy(0, packing.joint.slots.flatten(), joint.flatten(0, 1))
    return placed.view(2 * packing.shape[0], -1, width)


def plain_scan(gate_inputs: Tensor, recurrent: Tensor, packing: Packing) -> Tensor:
    """The states of ``lstm_scan`` by ordinary operations, which can be differentiated any number of
    times."""
    if len(gate_inputs) != len(recurrent):
        gate_inputs = _apart(gate_inputs, packing)
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
