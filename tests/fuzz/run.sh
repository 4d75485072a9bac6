#!/usr/bin/env bash
# Builds every fuzz target and runs each for some seconds, its seeds and what earlier runs
# found as a start.
#
#   tests/fuzz/run.sh [SECONDS [TARGET...]]      # 60 seconds each; all targets
#
# FUZZ_DIR (default ~/.cache/sightline/fuzz) keeps inputs that reach new code, and those
# that fail.  BAZEL_STARTUP takes options that go before bazel's command.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
seconds=${1:-60}
shift
found_dir=${FUZZ_DIR:-${HOME:-/root}/.cache/sightline/fuzz}
read -ra bazel <<<"bazel ${BAZEL_STARTUP:-}"

targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  mapfile -t targets < <("${bazel[@]}" query 'kind(cc_binary, //tests/fuzz:all)' 2>/dev/null |
    sed 's/.*://' | sort)
fi
[ ${#targets[@]} -gt 0 ] || { echo "no fuzz targets found"; exit 1; }
"${bazel[@]}" build --config=fuzz --noshow_progress "${targets[@]/#///tests/fuzz:}" || exit 1
programs=$("${bazel[@]}" info --config=fuzz bazel-bin 2>/dev/null)/tests/fuzz

failed=0
for target in "${targets[@]}"; do
  seeds=tests/fuzz/corpus/${target%_fuzz}
  found=$found_dir/$target
  mkdir -p "$found" "$found_dir/failures"
  echo "== $target: $seconds s"
  folders=("$found")
  [ -d "$seeds" ] && folders+=("$seeds")
  # Debian's libraries are not instrumented, so their containers would be misjudged; and
  # 512 MB are more than any input of these sizes may need.
  if ! ASAN_OPTIONS=detect_container_overflow=0 "$programs/$target" \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=512 \
    -artifact_prefix="$found_dir/failures/$target-" -print_final_stats=1 "${folders[@]}" \
    2>"$found_dir/$target.log"; then
    failed=$((failed + 1))
    tail -n 40 "$found_dir/$target.log"
  fi
  grep -aE '^(stat::number_of_executed_units|stat::peak_rss_mb)' "$found_dir/$target.log"
done
echo "fuzz: $((${#targets[@]} - failed)) clean, $failed failed"
[ "$failed" = 0 ]
