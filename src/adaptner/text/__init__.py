"""Tokens, sentences, tag schemes, and label names; all offsets are exact."""
