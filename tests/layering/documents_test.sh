#!/usr/bin/env bash
# The READMEs are true of the tree, and the check that says so can see when they are not.
# shellcheck disable=SC2016  # backquotes are Markdown's
set -euo pipefail
check=$1
# The real tree, not the copies that Bazel laid out for this test.
root=$(dirname "$(readlink -f "$2")")
python3 "$check" "$root"

# A small tree in which all is told, and where one change at a time must be noticed.
make_tree() {
  tree=$(mktemp -d "$TEST_TMPDIR/tree.XXXX")
  mkdir -p "$tree/common/base" "$tree/services/router"
  touch "$tree/common/base/clock.h" "$tree/services/router/main.cc"
  printf '| `common/base` | `common/base/clock.h` [base](common/base/README.md) |\n' >"$tree/README.md"
  touch "$tree/common/README.md"
  touch "$tree/services/router/README.md"
  mkdir -p "$tree/deploy/kubernetes/base/config"
  touch "$tree/deploy/kubernetes/README.md" "$tree/deploy/kubernetes/base/kustomization.yaml"
  touch "$tree/deploy/kubernetes/base/config/router.yaml" "$tree/deploy/kubernetes/sizing.py"
  mkdir -p "$tree/loadtest/figures"
  cat >"$tree/loadtest/figures/figures.json" <<'END'
{"clock": {"commit": "1a2b3c4", "cpu": "2 cores of Abacus (2 Hz)", "readmes": ["common/base/README.md"],
 "figures": {"tick": {"value": "1.5", "unit": "ms"}}},
 "timer": {"commit": "1a2b3c4", "cpu": "2 cores of Abacus (2 Hz)", "readmes": ["common/base/README.md"],
 "figures": {"wake": {"value": "81 to 83", "unit": "ms"}}}}
END
  echo 'Ticks take 1.5 ms, waking 81 to 83 ms (figures `clock`, `timer`: 1a2b3c4, 2 cores of Abacus (2 Hz)).' \
    >"$tree/common/base/README.md"
}
make_tree
python3 "$check" "$tree" >/dev/null

offends() {  # COMMAND: after it the tree must be refused
  make_tree
  (cd "$tree" && eval "$1")
  if python3 "$check" "$tree" >/dev/null; then
    echo "not noticed: $1"
    exit 1
  fi
}
offends 'rm common/base/clock.h; touch common/base/timer.h'
offends 'rm services/router/README.md'
offends 'rm deploy/kubernetes/README.md'
offends 'rm deploy/kubernetes/base/kustomization.yaml'
offends 'echo "[there](nowhere/README.md)" >>common/base/README.md'
offends 'echo "\`plan.md\` says so" >>common/base/README.md'
offends 'mkdir common/index'
offends 'sed -i s/1.5/1.6/ common/base/README.md'
offends 'sed -i s/1.5/11.5/ common/base/README.md'
offends 'sed -i s/83/830/ common/base/README.md'
offends 'sed -i s/1a2b3c4/1a2b3c5/ common/base/README.md'
offends 'sed -i "s/(2 Hz)/(3 Hz)/" common/base/README.md'
offends 'sed -i "s/, .timer.//" common/base/README.md'
offends 'sed -i s/timer/watch/ loadtest/figures/figures.json'
offends 'sed -i s:common/base/README.md:common/README.md: loadtest/figures/figures.json'
offends 'echo nothing >README.md'
# A tree in which nothing was found to check is no proof.
if python3 "$check" "$(mktemp -d "$TEST_TMPDIR/empty.XXXX")" >/dev/null; then exit 1; fi
