#!/usr/bin/env bash
# What a precision is worth: the capacity of a fleet in float32, and in the fastest precision that
# agrees, one after the other on this machine.
#
# usage: loadtest/precision.sh [SCENARIO] [--store DIR] [--out DIR]
#   SCENARIO     one that looks for a capacity; default base_capacity
#   --store DIR  what the fleets serve; default for base_capacity: the store that
#                loadtest/base_store.sh makes below ~/.cache/sightline, else the demo's
#   --out DIR    reports; default ~/.cache/sightline/loadtest/SCENARIO
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly cache=${HOME:-/root}/.cache/sightline
usage() {
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

name=base_capacity store='' out=''
while [ $# -gt 0 ]; do
  case $1 in
    --store | --out)
      [ -n "${2:-}" ] || usage
      case $1 in --store) store=$2 ;; --out) out=$2 ;; esac
      shift
      ;;
    -*) usage ;;
    *) name=$1 ;;
  esac
  shift
done
scenario=$here/scenarios/$name.yaml
[ -f "$scenario" ] || usage
grep -q '^capacity:' "$scenario" || { echo "precision: $name looks for no capacity" >&2; exit 2; }
out=$(realpath -m -- "${out:-$cache/loadtest/$name}")
if [ -z "$store" ] && [ "$name" = base_capacity ]; then
  store=$cache/base_store
  "$here/base_store.sh" "$store" >&2
fi
mkdir -p "$out"
for precision in float32 fastest; do
  # The scenario with that precision; what its paths start from stays.
  named=$out/$precision.yaml
  sed -E "s|queries: ([^/])|queries: $here/scenarios/\1|; s/^fleet: \{(precision: [a-z0-9]+(, )?)?/fleet: {precision: $precision\2/" \
    "$scenario" >"$named"
  grep -q "precision: $precision" "$named" || { echo "precision: $name has no line 'fleet: {'" >&2; exit 2; }
  status=0
  "$here/run.sh" "$named" ${store:+--store "$store"} --out "$out/$precision" || status=$?
  [ "$status" -le 1 ] || exit "$status"
done
python3 - "$out" <<'EOF'
import json, sys
rates = {name: json.load(open(f"{sys.argv[1]}/{name}/report.json"))["capacity"]["rate"]
         for name in ("float32", "fastest")}
print("capacity: float32 %.3g a second, fastest %.3g, ratio %.2f" % (
    rates["float32"], rates["fastest"], rates["fastest"] / rates["float32"]))
EOF
