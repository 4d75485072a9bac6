#!/usr/bin/env bash
# What the load test's generator keeps up with, and what a request costs it: 10 000 a second
# unchecked and 4 000 checked, against a server that does nothing, on the same machine.
#
# usage: loadtest/bench/generator.sh [--out DIR]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${HOME:-/root}/.cache/sightline/loadtest
case $#,${1:-} in
  0,) ;;
  2,--out) out=$(realpath -m -- "$2") ;;
  *) sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2; exit 1 ;;
esac
cd "$root"
bazel build --noshow_progress //loadtest //loadtest/bench:noop_server >&2
bin=$(bazel info bazel-bin 2>/dev/null)/loadtest
coproc server { exec "$bin/bench/noop_server"; }
trap 'kill "$server_PID" 2>/dev/null || true' EXIT
read -r _ port <&"${server[0]:?noop_server did not start}"
status=0
for name in noop noop_checked; do
  "$bin/loadtest" run "$here/$name.yaml" --target "127.0.0.1:$port" --out "$out/$name" || status=$?
done
exit "$status"
