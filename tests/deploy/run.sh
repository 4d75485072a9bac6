#!/usr/bin/env bash
# Checks what is deployed, as far as it takes no cluster: manifests and monitoring; and the client
# of object stores against a real one.  Installs what is missing and fetches Debian 13's tools; a
# second run needs no network.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
deploy/bazel/setup.sh tests/packages.txt || exit 1
tools=$(tests/deploy/kubernetes/tools.sh) || exit 1
failed=0
echo "deploy: kubernetes/on_store_test.sh"
tests/deploy/kubernetes/on_store_test.sh "$PWD" "$tools" || failed=1
for test in kubernetes/manifests_test.py kubernetes/sizing_test.py monitoring/monitoring_test.py; do
  echo "deploy: $test"
  /usr/bin/python3 "tests/deploy/$test" "$PWD" "$tools" || failed=1
done
echo "deploy: object_store/check.sh"
tests/deploy/object_store/check.sh || failed=1
exit "$failed"
