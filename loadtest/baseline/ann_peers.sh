#!/usr/bin/env bash
# Our indexes beside FAISS's own and hnswlib, over the same vectors, one query at a time and by
# turns: each one's rate at a recall, and the ratio of ours.
#
# usage: loadtest/baseline/ann_peers.sh [ARGUMENTS]
#   ARGUMENTS  of ann_peers: --items N, --only NAME, --build-threads N, --json FILE, ...; --help
#              tells all.  Indexes are kept at ~/.cache/sightline/ann_peers, or at --cache DIR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
cache=${HOME:-/root}/.cache/sightline/ann_peers

"$tree/deploy/bazel/setup.sh" "$here/ann_peers/packages.txt"
(cd "$tree" && bazel build //loadtest/baseline/ann_peers)
program=$(cd "$tree" && bazel info bazel-bin 2>/dev/null)/loadtest/baseline/ann_peers/ann_peers
case " $* " in
  *' --cache '* | *' --cache='* | *' --help '* | *' --list '*) ;;
  *) set -- --cache "$cache" "$@" ;;
esac
# What peers allocate lies in huge pages too, as ours does by itself.
GLIBC_TUNABLES=glibc.malloc.hugetlb=1 exec "$program" "$@"
