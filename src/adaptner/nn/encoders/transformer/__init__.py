"""A pretrained transformer as the encoder: network, sub-word batches, LoRA, packed attention."""
