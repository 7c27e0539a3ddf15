#!/usr/bin/env bash
# Runs the tests. Sets itself up.
#
#   bash scripts/test.sh            the fast suite, then what its data and packages allow
#   bash scripts/test.sh tests/…    any arguments of pytest instead
#
# Tests marked `reference` and `real_data` run where ELECTRA_TF_REFERENCE and ELECTRA_TF_DATA point
# to those folders.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
source "$root/scripts/environment.sh"
use_environment clue,demo,dev
cd "$root"
export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-3}
if [ $# -gt 0 ]; then
  exec python -m pytest "$@"
fi
exec python -m pytest -n 2 --dist loadfile
