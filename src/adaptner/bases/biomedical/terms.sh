#!/bin/sh
# How this base's terminologies were compiled: five minutes on one core, 1.5 GB of memory. TERMS holds the terminologies as they are named
# in adaptner/terms/licences.toml, which says where each comes from and whether it ships; RAW and GENERAL
# hold raw texts of the field and of anything else, one tokenised sentence a line.
set -e
TERMS=${1:?folder with the terminologies}
RAW=${2:?folder with raw texts of the field}
GENERAL=${3:?folder with general raw texts}
adaptner terms build "$TERMS" --only-shippable --text "$RAW" --general "$GENERAL" -o "${4:-terms.bin}"
