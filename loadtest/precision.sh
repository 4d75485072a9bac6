#!/usr/bin/env bash
# What a precision is worth: the capacity of a fleet in float32, and in the fastest precision that
# agrees, by turns on this machine.  Prints what each found and computed in, and the ratio.
#
# usage: loadtest/precision.sh [SCENARIO] [--rounds N] [--store DIR] [--out DIR]
#   SCENARIO     one that looks for a capacity; default base_capacity
#   --rounds N   float32, fastest, float32, fastest ...; default 1.  The ratio is of the medians
#   --store DIR  what the fleets serve; default for base_capacity: the store that
#                loadtest/base_store.sh makes below ~/.cache/sightline, else the demo's
#   --out DIR    reports; default ~/.cache/sightline/loadtest/precision_SCENARIO
#
# exit status: 0 it is told, 1 a capacity was not found or something failed, 2 wrong usage, others
# as of loadtest/run.sh.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly cache=${HOME:-/root}/.cache/sightline
usage() {
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

name=base_capacity rounds=1 store='' out=''
while [ $# -gt 0 ]; do
  case $1 in
    --rounds | --store | --out)
      [ -n "${2:-}" ] || usage
      case $1 in --rounds) rounds=$2 ;; --store) store=$2 ;; --out) out=$2 ;; esac
      shift
      ;;
    -*) usage ;;
    *) name=$1 ;;
  esac
  shift
done
scenario=$here/scenarios/$name.yaml
[ -f "$scenario" ] && [[ $rounds =~ ^[1-9][0-9]*$ ]] || usage
grep -q '^capacity:' "$scenario" || { echo "precision: $name looks for no capacity" >&2; exit 2; }
out=$(realpath -m -- "${out:-$cache/loadtest/precision_$name}")
if [ -z "$store" ] && [ "$name" = base_capacity ]; then
  store=$cache/base_store
  "$here/base_store.sh" "$store" >&2
fi
mkdir -p "$out"
reports=()
for ((round = 1; round <= rounds; ++round)); do
  for precision in float32 fastest; do
    run=$out/$precision-$round
    "$here/ratios.py" change "$scenario" "fleet.precision=$precision" >"$out/$precision.yaml"
    "$here/run.sh" "$out/$precision.yaml" ${store:+--store "$store"} --out "$run"
    reports+=("$run/report.json")
  done
done
"$here/ratios.py" precision "${reports[@]}"
