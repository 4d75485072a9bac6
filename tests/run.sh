#!/usr/bin/env bash
# Builds everything and runs every test, on a machine that need not have anything
# installed.  Extra arguments go to `bazel test`, e.g. tests/run.sh --config=asan.
# What a test leaves out here is said before the last line, which is `tests: N passed, 0 failed`,
# counted in test cases.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
deploy/bazel/setup.sh tests/packages.txt || exit 1

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# `bazel test` alone builds only what tests need; the binaries must build as well.
bazel build --noshow_progress "${@}" //... || { echo "tests: 0 passed, 1 failed"; exit 1; }
bazel test --noshow_progress --test_summary=short "${@}" //... 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

logs=$(bazel info "${@}" bazel-testlogs 2>/dev/null)
passed=0 failed=0
# A line per target: "//tests/common/base:clock_test   PASSED in 0.1s".  A Catch2 program says
# how many cases it ran; any other test is one case.
while read -r target verdict; do
  path=${target#//}
  cases=$(grep -aoE '^cases: [0-9]+ passed, [0-9]+ failed$' "$logs/${path/://}/test.log" 2>/dev/null | tail -n 1)
  if [ -n "$cases" ] && { [ "$verdict" = PASSED ] || [[ $cases != *" 0 failed" ]]; }; then
    read -r _ good _ bad _ <<<"$cases"
    passed=$((passed + good)) failed=$((failed + bad))
  elif [ "$verdict" = PASSED ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
  grep -aoE 'LEFT OUT: .*' "$logs/${path/://}/test.log" 2>/dev/null | sed "s|^LEFT OUT|LEFT OUT of $target|"
done < <(sed -nE 's/^(\/\/[^ ]+) +(\(cached\) +)?(PASSED|FLAKY|FAILED|TIMEOUT|NO STATUS).*/\1 \3/p' "$log" | sort -u)

[ "$status" = 0 ] || [ "$failed" -gt 0 ] || failed=1
[ "$passed" -gt 0 ] || failed=$((failed + 1))
echo "tests: $passed passed, $failed failed"
[ "$failed" = 0 ]
