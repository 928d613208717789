"""Pretrained transformers as encoders: network, sub-word batches, LoRA, packed attention."""
