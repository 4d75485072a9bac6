#!/usr/bin/env bash
# Ours against the papers' way in plain PyTorch, taking turns: text encoding, search over
# 123 287 x 768, reranking of 20 candidates, and all of it, with the same base-size weights.
# Installs and builds what is missing; a second run takes its two minutes of measuring.
#
# usage: loadtest/baseline/run.sh [--rounds N] [--json FILE]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=${HOME:-/root}/.cache/sightline/baseline
if [ "${1:-}" = --help ]; then sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; fi

"$root/deploy/bazel/setup.sh" "$root/deploy/demo/packages.txt" "$here/packages.txt"
# shellcheck source=loadtest/baseline/prepare.sh
. "$here/prepare.sh"
prepare "$root" "$folder"
exec /usr/bin/python3 "$here/compare.py" "$folder" "$bin/loadtest/baseline/ours" "$(nproc)" "$@"
