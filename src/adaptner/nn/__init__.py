"""The parts of a tagger: batches, encoders, decoders, auxiliary heads and losses.

Every parameter has a leading *task* dimension G, and every forward pass runs G tasks at once, each with
its own parameters and sentences; a plain model has G = 1. One kernel call therefore serves the inner
loops of all tasks of a batch, and the gradient of the summed losses with respect to the stacked
parameters holds the gradient of each task.
"""
