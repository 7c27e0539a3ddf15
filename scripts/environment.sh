# Sourced by the other scripts: a virtual environment in .venv with this project installed in it.
# `use_environment EXTRAS` makes it where it is missing or older than the requirements.

use_environment() {
  local extras=$1 root python stamp wanted
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  ELECTRA_TF_VENV=${ELECTRA_TF_VENV:-$root/.venv}
  stamp=$ELECTRA_TF_VENV/.installed-$extras
  wanted=$(cat "$root/requirements.txt" "$root/pyproject.toml" | sha256sum)
  if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
    python=$(find_python) || return 1
    echo "setting up $ELECTRA_TF_VENV (once; a few minutes) ..."
    [ -x "$ELECTRA_TF_VENV/bin/python" ] || "$python" -m venv "$ELECTRA_TF_VENV" || {
      echo "error: $python -m venv failed; on Debian and Ubuntu: apt install python3-venv" >&2
      return 1
    }
    "$ELECTRA_TF_VENV/bin/python" -m pip install --quiet --disable-pip-version-check \
      --editable "$root[$extras]" || {
      echo "error: the packages of requirements.txt could not be installed (see above)" >&2
      return 1
    }
    echo "$wanted" > "$stamp"
  fi
  PATH=$ELECTRA_TF_VENV/bin:$PATH
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3.11 python3.12 python3; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' \
      2>/dev/null; then
      echo "$candidate"
      return 0
    fi
  done
  echo "error: no Python 3.11 or 3.12 found; install one, or set PYTHON to its path" >&2
  return 1
}
