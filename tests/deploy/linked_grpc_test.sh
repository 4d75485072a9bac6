#!/usr/bin/env bash
# The programs of images carry gRPC themselves (sl_cc_program).  A linker that does not find its
# archives takes the shared libraries without a word, and each call costs more.
#
#   linked_grpc_test.sh PROGRAM...
set -euo pipefail
for program in "$@"; do
  needs=$(readelf -d "$program")
  [[ $needs == *NEEDED* ]] || { echo "$program: readelf tells of no library"; exit 1; }
  if shared=$(grep -E 'NEEDED.*\[lib(grpc|gpr)' <<<"$needs"); then
    printf '%s needs\n%s\n' "$program" "$shared"
    exit 1
  fi
done
