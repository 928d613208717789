"""Corpora and domains: labelled sentences in splits, what they hold and what they share."""
