#!/usr/bin/env bash
# The demo's models can be trained anew: what train.sh gives to the trainer is taken by it.
#
#   training_configs_test.sh TRAINER CONFIG...
set -euo pipefail
trainer=$1
shift
[ "$#" = 2 ]
for config in "$@"; do
  "$trainer" train --config "$config" --data set --out run --store store --check
done

# The test can fail: a key that the trainer does not know is refused.
{ cat "$1"; echo "epochs: 3"; } >"$TEST_TMPDIR/odd.yaml"
if "$trainer" train --config "$TEST_TMPDIR/odd.yaml" --data set --out run --store store --check; then
  echo "the trainer took a key that means nothing"
  exit 1
fi
