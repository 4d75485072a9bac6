#!/usr/bin/env bash
# Runs a scenario against a fleet of its own, or against one that runs already: installs
# and builds what is missing, makes the demo's store if the scenario serves that and it is
# not there, and gives a verdict.
#
# usage: loadtest/run.sh SCENARIO [--target ADDR]... [--store DIR] [--out DIR]
#   SCENARIO       a file, or the name of one in loadtest/scenarios
#   --target ADDR  router that runs already; repeatable
#   --store DIR    what a fleet of its own serves; default: the scenario's, else the demo's
#   --out DIR      reports and logs; default ~/.cache/sightline/loadtest/SCENARIO
#
# exit status: 0 it held, 1 it did not hold or something failed, 2 wrong usage, 3 cannot be told,
# 75 it was interrupted or something is not there yet; run it again.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly cache=${HOME:-/root}/.cache/sightline
usage() {
  printf 'loadtest: %s\n' "$1" >&2
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

scenario='' out='' arguments=() needs_store=yes
while [ $# -gt 0 ]; do
  case $1 in
    --target | --store | --out)
      [ -n "${2:-}" ] || usage "$1 needs a value"
      case $1 in
        --out) out=$2 ;;
        --store) arguments+=("$1" "$(realpath -m -- "$2")") needs_store='' ;;
        *) arguments+=("$1" "$2") needs_store='' ;;
      esac
      shift
      ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) usage "unknown argument '$1'" ;;
    *)
      [ -z "$scenario" ] || usage "one scenario at a time, not '$scenario' and '$1'"
      scenario=$1
      ;;
  esac
  shift
done
[ -n "$scenario" ] || usage "name a scenario"
if [ ! -f "$scenario" ]; then
  named=$root/loadtest/scenarios/$scenario.yaml
  [ -f "$named" ] || usage "there is no file '$scenario', and no scenario of that name in loadtest/scenarios"
  scenario=$named
fi
name=$(basename "$scenario")
out=$(realpath -m -- "${out:-$cache/loadtest/${name%.*}}")
scenario=$(realpath -- "$scenario")

"$root/deploy/bazel/setup.sh" || { echo "loadtest: the machine is not ready; the reason is above" >&2; exit 1; }
cd "$root"
if [ -n "$needs_store" ] && ! grep -qE '^ *store:|store: *[^ ]' "$scenario" &&
  [ ! -e "$cache/demo/store/indexes/images/CURRENT" ]; then
  echo "loadtest: the demo's store is not there yet; making it" >&2
  deploy/demo/run.sh --once >&2 || exit 1
fi
bazel build --noshow_progress //loadtest //services/query_encoder //services/index_search \
  //services/reranker //services/router >&2 || { echo "loadtest: the build failed" >&2; exit 1; }
bin=$(bazel info bazel-bin 2>/dev/null)
exec "$bin/loadtest/loadtest" run "$scenario" --binaries "$bin/services" --out "$out" "${arguments[@]}"
