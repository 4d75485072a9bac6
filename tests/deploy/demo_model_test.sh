#!/usr/bin/env bash
# The demo's model, as the repository has it: whole, verified, one bundle that retrieves and
# reranks, and no larger than what may be kept.
#
#   demo_model_test.sh SIGHTLINECTL MEASURED FILE...
set -euo pipefail
ctl=$1 measured=$2
shift 2
readonly most_bytes=16000000
store=$TEST_TMPDIR/store model=$TEST_TMPDIR/model

die() { echo "$*"; exit 1; }

mkdir "$model"
bytes=0
for file in "$@"; do
  cp -L "$file" "$model/"
  bytes=$((bytes + $(stat -Lc %s "$file")))
done
[ "$bytes" -le "$most_bytes" ] || die "the model has $bytes bytes, more than $most_bytes"

id=$("$ctl" add-model "$model" --store "$store")
[ -f "$store/models/$id/manifest.json" ]
[ "$(grep -cE "_model\": \"$id\"" "$measured")" = 4 ] ||
  die "measured.json is of another model than $id; measure this one as README.md says"
"$ctl" describe --store "$store" "$id" --verify >"$TEST_TMPDIR/told"
cat "$TEST_TMPDIR/told"
for line in "  grid extractor " "  embedding " "  cross-encoder " "  probes          24 texts, 40 items" "verified: "; do
  grep -q "^$line" "$TEST_TMPDIR/told" || die "no line '$line'"
done
# As model.json says, which has what `evaluator measure --choose` found by validation.
grep -Eq "^  text to image +combined by add_lambda:0.8$" "$TEST_TMPDIR/told" ||
  die "a text's pictures are ordered in another way"
grep -Eq "^  image to text +combined by add_lambda:0.8$" "$TEST_TMPDIR/told" ||
  die "a picture's words are ordered in another way"

# The test can fail: a flipped byte in the middle of the weights is refused.
weights=$model/weights.safetensors
middle=$(($(stat -c %s "$weights") / 2))
chmod u+w "$weights"
byte=$(od -An -tu1 -j "$middle" -N 1 "$weights")
printf "$(printf '\\%03o' $((byte ^ 1)))" | dd of="$weights" bs=1 seek="$middle" conv=notrunc status=none
if "$ctl" add-model "$model" --store "$TEST_TMPDIR/other" 2>/dev/null; then
  die "add-model took damaged weights"
fi
