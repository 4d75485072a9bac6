#!/usr/bin/env bash
# The READMEs show the layers as they are, and the check that says so can see when they do not.
set -euo pipefail
check=$1
# The real tree, not the copies that Bazel laid out for this test.
root=$(dirname "$(readlink -f "$2")")
python3 "$check" "$root"

tree=$(mktemp -d "$TEST_TMPDIR/tree.XXXX")
mkdir "$tree/common"
restore() { cp "$root/README.md" "$tree/README.md"; cp "$root/common/README.md" "$tree/common/README.md"; }
refused() {
  if python3 "$check" "$tree" >/dev/null; then echo "not noticed: $1"; exit 1; fi
}
for change in 's/-> common.{rpc, /-> common\/{/' 's/^| FAISS .*/| FAISS | `services` |/' \
  's/<!-- layers, drawn -->//'; do
  restore
  sed -i "$change" "$tree/README.md" "$tree/common/README.md"
  refused "$change"
done

# What it draws is what it asks for, and nothing else of the README changes.
restore
sed -i '/^| FAISS /d' "$tree/common/README.md"
python3 "$check" "$tree" --write >/dev/null
cmp "$root/README.md" "$tree/README.md"
cmp "$root/common/README.md" "$tree/common/README.md"
