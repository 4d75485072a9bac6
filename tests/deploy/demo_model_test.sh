#!/usr/bin/env bash
# The demo's model, as the repository has it: whole, verified, a bi- and a cross-encoder,
# and no larger than what may be kept.
#
#   demo_model_test.sh SIGHTLINECTL FILE...     # the files of the bundle
set -euo pipefail
ctl=$1
shift
readonly most_bytes=30000000

model=$TEST_TMPDIR/model
mkdir "$model"
bytes=0
for file in "$@"; do
  cp -L "$file" "$model/"
  bytes=$((bytes + $(stat -Lc %s "$file")))
done
[ "$bytes" -le "$most_bytes" ] || { echo "the model has $bytes bytes, more than $most_bytes"; exit 1; }

store=$TEST_TMPDIR/store
id=$("$ctl" add-model "$model" --store "$store")
[ -f "$store/models/$id/manifest.json" ]
"$ctl" describe --store "$store" "$id" --verify >"$TEST_TMPDIR/told"
cat "$TEST_TMPDIR/told"
for line in "  embedding " "  cross-encoder " "  grid extractor " "verified: "; do
  grep -q "^$line" "$TEST_TMPDIR/told" || { echo "no line '$line'"; exit 1; }
done

# The test can fail: a flipped byte in the middle of the weights is refused.
weights=$model/weights.safetensors
middle=$(($(stat -c %s "$weights") / 2))
chmod u+w "$weights"
byte=$(od -An -tu1 -j "$middle" -N 1 "$weights")
printf "$(printf '\\%03o' $((byte ^ 1)))" | dd of="$weights" bs=1 seek="$middle" conv=notrunc status=none
if "$ctl" add-model "$model" --store "$TEST_TMPDIR/other" 2>/dev/null; then
  echo "add-model took damaged weights"
  exit 1
fi
