#!/usr/bin/env bash
# The demo's two models, as the repository has them: whole, verified, one that retrieves and
# one that reranks, and together no larger than what may be kept.
#
#   demo_model_test.sh SIGHTLINECTL --encoder FILE... --reranker FILE...
set -euo pipefail
ctl=$1
shift
readonly most_bytes=31000000
store=$TEST_TMPDIR/store

die() { echo "$*"; exit 1; }

bytes=0
for argument in "$@"; do
  case $argument in
    --*)
      folder=$TEST_TMPDIR/${argument#--}
      mkdir "$folder"
      ;;
    *)
      cp -L "$argument" "$folder/"
      bytes=$((bytes + $(stat -Lc %s "$argument")))
      ;;
  esac
done
[ "$bytes" -le "$most_bytes" ] || die "the models have $bytes bytes, more than $most_bytes"

for part in encoder reranker; do
  id=$("$ctl" add-model "$TEST_TMPDIR/$part" --store "$store")
  [ -f "$store/models/$id/manifest.json" ]
  "$ctl" describe --store "$store" "$id" --verify >"$TEST_TMPDIR/$part.told"
  cat "$TEST_TMPDIR/$part.told"
  for line in "  grid extractor " "  probes          24 texts, 40 items" "verified: "; do
    grep -q "^$line" "$TEST_TMPDIR/$part.told" || die "$part: no line '$line'"
  done
done
grep -q "^  embedding " "$TEST_TMPDIR/encoder.told" || die "the encoder cannot encode"
grep -q "^  cross-encoder " "$TEST_TMPDIR/reranker.told" || die "the reranker cannot rerank"
# What it does harm to is not reranked by default.
grep -Eq "^  text to image +combined by add_lambda:0.8$" "$TEST_TMPDIR/reranker.told" ||
  die "a text's pictures are ordered in another way"
grep -Eq "^  image to text +none; " "$TEST_TMPDIR/reranker.told" || die "a picture's words are reranked"
cmp "$TEST_TMPDIR/encoder/vocab.txt" "$TEST_TMPDIR/reranker/vocab.txt"

# The test can fail: a flipped byte in the middle of the weights is refused.
weights=$TEST_TMPDIR/encoder/weights.safetensors
middle=$(($(stat -c %s "$weights") / 2))
chmod u+w "$weights"
byte=$(od -An -tu1 -j "$middle" -N 1 "$weights")
printf "$(printf '\\%03o' $((byte ^ 1)))" | dd of="$weights" bs=1 seek="$middle" conv=notrunc status=none
if "$ctl" add-model "$TEST_TMPDIR/encoder" --store "$TEST_TMPDIR/other" 2>/dev/null; then
  die "add-model took damaged weights"
fi
