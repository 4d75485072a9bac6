#!/usr/bin/env bash
# Servers carry gRPC themselves (sl_cc_server).  A linker that does not find its archives takes the
# shared libraries without a word, and each call costs more.
#
#   linked_grpc_test.sh SERVER...
set -euo pipefail
for server in "$@"; do
  needs=$(readelf -d "$server")
  [[ $needs == *NEEDED* ]] || { echo "$server: readelf tells of no library"; exit 1; }
  if shared=$(grep -E 'NEEDED.*\[lib(grpc|gpr)' <<<"$needs"); then
    printf '%s needs\n%s\n' "$server" "$shared"
    exit 1
  fi
done
