"""Adapting a base to a target: what the methods share."""
