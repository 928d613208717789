"""A straightforward first-order meta-step, the reference of meta_step.py.

It copies the modules for each task, runs ``nn.LSTM`` on packed sequences and the character networks on every
token, and loops over the sentence in the CRF. Architecture and losses are ours.
"""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class PlainTagger(nn.Module):
    def __init__(self, table, alphabet_size, tags, domains, forbidden, starts):
        super().__init__()
        self.table = table  # frozen, shared by all copies
        self.chars = nn.Embedding(alphabet_size, 30, padding_idx=0)
        self.conv = nn.Conv1d(30, 50, 3, padding=1)
        self.char_lstm = nn.LSTM(30, 25, bidirectional=True, batch_first=True)
        self.lstm = nn.LSTM(300, 128, bidirectional=True, batch_first=True)
        self.emit = nn.Linear(256, tags)
        self.transition = nn.Parameter(torch.zeros(tags, tags))
        self.start = nn.Parameter(torch.zeros(tags))
        self.end = nn.Parameter(torch.zeros(tags))
        self.classify = nn.Linear(256, domains)
        self.forbidden, self.starts = forbidden, starts
        for name, p in self.named_parameters():
            # nn.LSTM has two biases that always add up; one of them learns, as in ours
            p.requires_grad_("bias_hh" not in name)

    def __deepcopy__(self, memo):
        memo[id(self.table)] = self.table
        clone = self.__class__.__new__(self.__class__)
        memo[id(self)] = clone
        clone.__dict__ = copy.deepcopy(self.__dict__, memo)
        return clone

    def forward(self, rows, chars, char_lengths, lengths, tags, domain):
        """rows (B, L), chars (B, L, C): every token, padded; returns label loss and domain loss."""
        batch, length, most = chars.shape
        mask = torch.arange(length) < lengths[:, None]
        flat = self.chars(chars.view(-1, most))
        inside = torch.arange(most) < char_lengths.view(-1, 1)
        convolved = self.conv(flat.transpose(1, 2)).masked_fill(~inside[:, None], -torch.inf)
        by_cnn = convolved.max(2).values.masked_fill(~mask.view(-1, 1), 0)
        packed = pack_padded_sequence(
            flat, char_lengths.view(-1).clamp(min=1), batch_first=True, enforce_sorted=False
        )
        _, (last, _) = self.char_lstm(packed)
        by_lstm = torch.cat([last[0], last[1]], -1)
        vectors = torch.nn.functional.embedding(rows, self.table)
        inputs = torch.cat([vectors, torch.cat([by_cnn, by_lstm], -1).view(batch, length, -1)], -1)
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        emissions = self.emit(states)
        moves, start = self.transition + self.forbidden, self.start + self.starts
        alpha = start + emissions[:, 0]
        every = torch.arange(batch)
        gold = start[tags[:, 0]] + emissions[every, 0, tags[:, 0]]
        for t in range(1, length):
            moved = torch.logsumexp(alpha[:, :, None] + moves, 1) + emissions[:, t]
            alpha = torch.where(mask[:, t, None], moved, alpha)
            step = moves[tags[:, t - 1], tags[:, t]] + emissions[every, t, tags[:, t]]
            gold = gold + step * mask[:, t]
        gold = gold + self.end[tags[every, lengths - 1]]
        label = (torch.logsumexp(alpha + self.end, 1) - gold).mean()
        mean = (states * mask[..., None]).sum(1) / lengths[:, None]
        target = torch.full((batch,), domain)
        return label, nn.functional.cross_entropy(self.classify(mean), target)


def plain_meta_step(models, tasks, rate):
    """First-order HGDA gradients: ``models`` one per task's domain; ``tasks`` (support, query)."""
    losses, gradients = [], []
    for model, (support, query) in zip(models, tasks, strict=True):
        own = copy.deepcopy(model)
        label, aux = own(*support)
        learning = [(n, p) for n, p in own.named_parameters() if p.requires_grad]
        names, parameters = zip(*learning, strict=True)
        grads = torch.autograd.grad(label + aux, parameters)
        with torch.no_grad():
            for p, g in zip(parameters, grads, strict=True):
                p -= rate * g
        label, aux = own(*query)
        losses.append(label + aux)
        gradients.append(dict(zip(names, torch.autograd.grad(losses[-1], parameters), strict=True)))
    values = torch.stack([loss.detach() for loss in losses])
    weights = values / values.sum()
    total = {
        n: sum(w * g[n] for w, g in zip(weights, gradients, strict=True)) for n in gradients[0]
    }
    return values, total
