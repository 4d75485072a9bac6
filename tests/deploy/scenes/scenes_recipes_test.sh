#!/usr/bin/env bash
# What claims.py trains can be trained: the trainer takes every recipe, and a network is made of every
# model.
#
#   scenes_recipes_test.sh TRAINER SIGHTLINECTL FILE...
set -euo pipefail
trainer=$1 ctl=$2
shift 2
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ndog\n' >"$TEST_TMPDIR/WORDPIECE"
echo 'a dog' >"$TEST_TMPDIR/text"
"$ctl" make-vocabulary --kind word_list --min-count 1 --text "$TEST_TMPDIR/text" \
  --out "$TEST_TMPDIR/WORD_LIST"
recipes=0 models=0
for file in "$@"; do
  case $file in
    *.yaml)
      sed 's/\$[a-z]*/other/' "$file" >"$TEST_TMPDIR/recipe.yaml"
      "$trainer" learn --recipe "$TEST_TMPDIR/recipe.yaml" --start x --corpus regions:x --out x \
        --store x --check
      recipes=$((recipes + 1))
      ;;
    *.json)
      kind=$(sed -n '/"tokenizer"/,/}/s/.*"kind": "\(.*\)".*/\1/p' "$file")
      "$ctl" init-model --store "$TEST_TMPDIR/store" --vocabulary "$TEST_TMPDIR/$kind" \
        --config "$file" --seed 1
      models=$((models + 1))
      ;;
  esac
done
[ "$recipes" -gt 0 ] && [ "$models" -gt 0 ]

# The test can fail: a key that the trainer does not know is refused.
{ cat "$TEST_TMPDIR/recipe.yaml"; echo "epochs: 3"; } >"$TEST_TMPDIR/odd.yaml"
if "$trainer" learn --recipe "$TEST_TMPDIR/odd.yaml" --start x --corpus regions:x --out x --store x \
  --check; then
  echo "the trainer took a key that means nothing"
  exit 1
fi
