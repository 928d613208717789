#!/bin/sh
# How this base was made: about an hour and a half on one core. RAW holds the texts that card.md names, one tokenised
# sentence a line; BIO8 the eight corpora, a folder each; TERMS the terminologies, GENERAL general text. Needs the
# extras "vectors" and "minilm".
set -e
RAW=${1:?folder with the raw texts}
BIO8=${2:?folder with the corpora}
TERMS=${3:?folder with the terminologies}
GENERAL=${4:?folder with general raw texts}
HERE=$(dirname "$0")
adaptner vectors count "$RAW"/*.txt.xz -o own.safetensors --min-count 8
adaptner vectors directions "$RAW"/*.txt.xz --vectors own.safetensors -o own.safetensors
adaptner vectors context "$RAW"/*.txt.xz --vectors own.safetensors -o context --steps 4800 \
  --names --teacher minilm --cloze-words 0 --word-dropout 0.3
set -- "$BIO8"/ncbi-disease "$BIO8"/bc5cdr-disease "$BIO8"/bc5cdr-chem "$BIO8"/bc4chemd-sub \
  "$BIO8"/jnlpba "$BIO8"/bc2gm "$BIO8"/linnaeus "$BIO8"/s800
adaptner pretrain --method named --start context --iterations 1500 -o known \
  --sources "$@" --held-out "$@"
adaptner pretrain --method finetuning --start known --second-encoder --iterations 2400 -o biomedical \
  --sources "$@" --held-out "$@"
sh "$HERE"/terms.sh "$TERMS" "$RAW" "$GENERAL" terms.bin
adaptner terms attach terms.bin biomedical --raw "$HERE"/raw.txt
