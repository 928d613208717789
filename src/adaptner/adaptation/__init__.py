"""Few sentences -> Tagger."""
