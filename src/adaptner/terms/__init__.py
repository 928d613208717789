"""Terminologies: their concepts and licences, and the readers of their files."""
