"""What every training loop shares: budget, optimiser and schedule, checkpoint and resume, progress,
and the folders models are kept in."""
