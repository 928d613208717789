"""The smallest encoder that has all parts: whole runs take a fraction of a second."""

TINY_ENCODER = {
    "word_width": 16,
    "char_embedding": 8,
    "char_cnn_filters": 8,
    "char_lstm": 8,
    "hidden": 12,
}
