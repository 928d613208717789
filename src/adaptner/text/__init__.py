"""From characters to tokens, sentences and tags, offset-exact throughout."""
