#!/usr/bin/env bash
# Changes a fleet under load, and judges the answers: 0 may fail, and none may be degraded but
# where the only replica of a shard or a reranker is missing; each router finds a pod within five
# seconds of the name's answer changing.
#
# Each process has a network namespace of its own on one bridge, a name server gives the names of
# the manifests' headless Services the addresses that pods have at the moment, configurations are
# those of deploy/kubernetes and of fleet.py, and pods start and end as the manifests say.  The
# questions come from loadtest, which balances over the routers by their name, at a quarter of what
# the fleet bears.  What is done meanwhile: restarts, a drain, kills, a publication and its
# rollback, more and fewer replicas, names that move, an object store that is away (actions.py).
#
# usage: tests/deploy/fleet/check.sh [--whole] [--fleet NAME]... [--binaries DIR] [--out DIR]
#   --whole         all actions on all workloads, of all fleets: twenty minutes.  Without it one
#                   round of the most telling ones on production: two and a half
#   --fleet NAME    only this one: production, two replicas of everything; dev, one; object-store,
#                   two, whose servers fetch into caches of their own
#   --binaries DIR  of the programs, all in it or as Bazel lays them out; default: they are built
#   --out DIR       where configurations, logs and reports are kept if it was not good
#
# environment:
#   SIGHTLINE_CONTAINERS  "yes": this machine can make network namespaces, so that it is a failure
#                         if it cannot.  Without it that is only said
#
# It takes root, or CAP_NET_ADMIN, CAP_SYS_ADMIN and CAP_NET_BIND_SERVICE with an /etc and a /run
# that can be written to; a container has that with --privileged.  A run leaves nothing of its
# network behind, and removes what one left that was killed.
#
# exit status: 0 all held, 1 something did not, or failed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../../.."
arguments=() binaries=''
while [ $# -gt 0 ]; do
  case $1 in
    --binaries)
      binaries=${2:?"--binaries needs a folder"}
      shift
      ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
if [ -z "$binaries" ]; then
  deploy/bazel/setup.sh tests/deploy/fleet/packages.txt
  bazel build --noshow_progress //loadtest //services/corpus_encoder //services/index_search \
    //services/query_encoder //services/reranker //services/router //services/sightlinectl \
    //tests/common/object_store:s3_test_server >&2
  binaries=$(bazel info bazel-bin 2>/dev/null)
fi
exec /usr/bin/python3 -B "$here/check.py" --binaries "$binaries" "${arguments[@]}"
