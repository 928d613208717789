"""Parts of a tagger, one per file.

Every parameter has a leading *task* dimension G and every forward runs G tasks side by side, each
with its own parameters and its own sentences. A plain model is G = 1. The inner loops of a batch of
tasks thus run in lockstep: one kernel call serves all tasks, and the gradient of the summed losses
by the stacked parameters is each task's own gradient.
"""
