#!/usr/bin/env bash
# The client of common/object_store against a real server: moto (moto.sh), or the one that
# SIGHTLINE_S3_ENDPOINT names, which has a bucket of the name "bucket" and keys in AWS's variables.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
test=//tests/common/object_store:s3_conformance_test
bazel build --noshow_progress "$test"
program=$(bazel info bazel-bin 2>/dev/null)/${test#//}

if [ -z "${SIGHTLINE_S3_ENDPOINT:-}" ]; then
  exec {endpoint}< <(exec tests/deploy/object_store/moto.sh)
  moto=$!
  trap 'kill "$moto"' EXIT
  read -r SIGHTLINE_S3_ENDPOINT <&"$endpoint" || { echo "check: moto does not start" >&2; exit 1; }
  export SIGHTLINE_S3_ENDPOINT AWS_ACCESS_KEY_ID=an-id AWS_SECRET_ACCESS_KEY=a-secret
fi
"${program/://}"
