#!/bin/sh
# How this base was made: three commands, about two hours on two cores. RAW holds the texts that card.md
# names, one tokenised sentence a line. With two threads no two runs of the first are equal.
set -e
RAW=${1:?folder with the raw texts}
adaptner vectors train "$RAW"/*.txt.xz -o own.safetensors --threads 2 --epochs 3 --least 8
adaptner vectors senses "$RAW"/*.txt.xz --vectors own.safetensors -o own.safetensors
adaptner vectors context "$RAW"/*.txt.xz --vectors own.safetensors -o biomedical --steps 14000 --hidden 192
