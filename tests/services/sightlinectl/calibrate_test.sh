#!/usr/bin/env bash
# The demo's model as two kinds of CPU compute it: their reports, and the bound between them.
# usage: calibrate_test.sh SIGHTLINECTL FILE...
set -euo pipefail
ctl=$1
shift
die() { echo "$*"; exit 1; }

mkdir "$TEST_TMPDIR/model"
cp -L "$@" "$TEST_TMPDIR/model/"
for cpu in avx2 avx512_vnni; do
  SIGHTLINE_CPU=$cpu "$ctl" calibrate --bundle "$TEST_TMPDIR/model" \
    --json "$TEST_TMPDIR/$cpu.json" >"$TEST_TMPDIR/$cpu.txt"
  cat "$TEST_TMPDIR/$cpu.txt"
done
grep -q '^bfloat16: this CPU (avx2) has none$' "$TEST_TMPDIR/avx2.txt" || die "what AVX2 lacks is not told"
grep -Eq '^  int8 +avx2 ' "$TEST_TMPDIR/avx2.txt" || die "AVX2 does not compute in int8"
# How many there is time for, a busy machine decides.
grep -Eq '[0-9]+ texts and [0-9]+ items of the bundle; 24 texts mean known items' "$TEST_TMPDIR/avx2.txt" ||
  die "the demo's probes are not used"

"$ctl" calibrate --merge "$TEST_TMPDIR/avx2.json" "$TEST_TMPDIR/avx512_vnni.json" >"$TEST_TMPDIR/bound.txt"
cat "$TEST_TMPDIR/bound.txt"
# Scores are compared, text by text; float32 is the same on both but for rounding.
grep -Eq '^  texts +int8 on 1 +int8 on 2 .* scores$' "$TEST_TMPDIR/bound.txt" || die "int8 is not compared"
grep -Eq '^  texts +float32 on 1 +float32 on 2 +1\.0000 +1\.0000 +(0\.999[0-9]|1\.0000) .* scores$' \
  "$TEST_TMPDIR/bound.txt" || die "float32 is another on another CPU"
