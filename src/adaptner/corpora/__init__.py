"""Corpora, domains, and raw text: loading, downloading, converting, and checking them."""
