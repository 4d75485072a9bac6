#!/usr/bin/env bash
# The demo's model can be trained anew: the three files that train.sh gives to the programs are
# taken by them.
#
#   training_configs_test.sh TRAINER SIGHTLINECTL CONFIG RECIPE MODEL VOCABULARY
set -euo pipefail
[ "$#" = 6 ]
trainer=$1 ctl=$2 vocabulary=$6

train() { "$trainer" train --config "$1" --data set --out run --store store --check; }
learn() {
  "$trainer" learn --recipe "$1" --start model --corpus regions:set.regions --out run --store store --check
}
init() {
  "$ctl" init-model --store "$TEST_TMPDIR/store" --config "$1" --vocabulary "$vocabulary"
}
train "$3"
learn "$4"
init "$5"

# The test can fail: a key that means nothing is refused.
refused() {  # COMMAND FILE
  if "$@"; then echo "$1 took a key that means nothing"; exit 1; fi
}
{ cat "$3"; echo "epochs: 3"; } >"$TEST_TMPDIR/train.yaml"
{ cat "$4"; echo "epochs: 3"; } >"$TEST_TMPDIR/learn.yaml"
sed 's/"family"/"epochs": 3, "family"/' "$5" >"$TEST_TMPDIR/model.json"
refused train "$TEST_TMPDIR/train.yaml"
refused learn "$TEST_TMPDIR/learn.yaml"
refused init "$TEST_TMPDIR/model.json"
