#!/usr/bin/env bash
# From raw Chinese text to a pre-trained ELECTRA. Sets itself up; run it again to resume.
#
#   bash scripts/pretrain_zh.sh                       the demo: embedded text, minutes on two cores
#   bash scripts/pretrain_zh.sh --corpus texts/ --config configs/pretrain/small.yaml \
#       --out runs/mine [--set training.batch_size=256 ...]
#
# Options are those of `electra-tf pretrain` (--help tells them).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/environment.sh"
use_environment demo
exec electra-tf pretrain "$@"
