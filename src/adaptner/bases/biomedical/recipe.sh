#!/bin/sh
# How this base was made: three commands, about an hour on one core. RAW holds the texts that card.md
# names, one tokenised sentence a line. Needs the extras "vectors" and "minilm".
set -e
RAW=${1:?folder with the raw texts}
adaptner vectors count "$RAW"/*.txt.xz -o own.safetensors --least 8
adaptner vectors senses "$RAW"/*.txt.xz --vectors own.safetensors -o own.safetensors
adaptner vectors context "$RAW"/*.txt.xz --vectors own.safetensors -o biomedical --steps 4800 \
  --names --teacher minilm --guesses 0 --forgotten 0.3
