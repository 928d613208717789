"""Training for all methods: budget, optimiser and schedule, step loop, checkpoints and metrics files."""
