#!/usr/bin/env bash
# What check.sh trains with is what the trainer takes.
#
# usage: configs_test.sh TRAINER CONFIG...
set -uo pipefail
trainer=$1
passed=0 failed=0
for config in "${@:2}"; do
  for precision in float32 bfloat16; do
    # As jobs.py makes it.
    { cat "$config"; echo "precision: $precision"; } >"$TEST_TMPDIR/config.yaml"
    if said=$("$trainer" train --config "$TEST_TMPDIR/config.yaml" --data d --out o --store s --check 2>&1) &&
      [ "$said" = "the configuration is valid" ]; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      printf '%s: %s\n' "$config" "$said"
    fi
  done
done
echo "cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
