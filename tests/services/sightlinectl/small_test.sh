#!/usr/bin/env bash
# The small sightlinectl needs no library that the router does not need.
# usage: small_test.sh SIGHTLINECTL_SMALL ROUTER
set -euo pipefail
libraries() { ldd "$1" | awk '/=>|^\t\// {print $1}' | sort -u; }
libraries "$2" >"$TEST_TMPDIR/router"
[ -s "$TEST_TMPDIR/router" ] || { echo "ldd says nothing of $2"; exit 1; }
more=$(libraries "$1" | comm -23 - "$TEST_TMPDIR/router")
[ -z "$more" ] || { echo "the router's image would need more:"; echo "$more"; exit 1; }
