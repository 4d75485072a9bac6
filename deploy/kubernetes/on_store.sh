#!/usr/bin/env bash
# Runs sightlinectl on the store of a fleet, as a Job of the template `sightlinectl`, prints what
# it says, and ends with the status that it ended with.  It waits as long as the command runs.  A Job of which no pod
# runs (no node has room, the image is missing) is deleted after a while, or it would publish
# whenever that is mended; the cluster's warnings are printed.
#
# usage: on_store.sh NAMESPACE COMMAND [ARGUMENT...]
#   on_store.sh sightline describe images
#   on_store.sh sightline rollback images --from 5f9c2e
#   on_store.sh sightline publish images 5f9c2e
#   on_store.sh sightline verify images
#
# A rollback says what it rolls back (--from), so that it may be run twice: the pod of a Job is
# replaced when its node is drained.
#
# Where there is an object store, commands that work on one store work on that, and the others on
# it and on the jobs' volume.  A command that names a place itself is left at that.
#
# environment:
#   START_SECONDS  how long there may be no pod that runs; default 600
#
# exit status: that of the command (common/config/README.md); 2 wrong usage; 1 no pod ran, or nobody
# can tell how the command ended.
set -euo pipefail
if [ $# -lt 2 ]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 2
fi
namespace=$1
shift
job=sightlinectl-$(date +%s)-$$
if [ "$1" = rollback ] && [[ " $* " != *" --from"[\ =]* ]]; then
  echo "on_store.sh: a rollback without --from goes back twice if its pod is replaced: add --from GENERATION," \
    "what is current now ('on_store.sh $namespace describe ${2:-INDEX}' names it)" >&2
  exit 2
fi
kubectl() { command kubectl --namespace "$namespace" "$@"; }

volume=--store=/var/lib/sightline/store
case " $* " in
  *" --store"[\ =]* | *" --object-store"[\ =]*) places=() ;;
  *)
    places=("$volume")
    # By itself, so that the script ends where it fails: that nobody answers does not say that there is none.
    has_object_store=$(kubectl get cronjob sightlinectl -o 'jsonpath={.metadata.labels.sightline/object-store}')
    if [ "$has_object_store" = true ]; then
      # The kubelet knows the URL.
      # shellcheck disable=SC2016
      case $1 in
        describe | rollback | verify) places=('--object-store=$(SIGHTLINE_OBJECT_STORE)') ;;
        *) places+=('--object-store=$(SIGHTLINE_OBJECT_STORE)') ;;
      esac
    fi
    ;;
esac
arguments='"sightlinectl"'
for argument in "$@" "${places[@]}"; do
  argument=${argument//\\/\\\\}
  arguments+=", \"${argument//\"/\\\"}\""
done

kubectl create job "$job" --from=cronjob/sightlinectl --dry-run=client -o json |
  kubectl patch --local -f - --type=json -o json \
    -p "[{\"op\": \"replace\", \"path\": \"/spec/template/spec/containers/0/args\", \"value\": [$arguments]}]" |
  kubectl create -f - >/dev/null

# Says what the cluster has against the Job and its pods.
give_up() {
  echo "on_store.sh: for $waited s no pod of job/$job has run:"
  kubectl get events --sort-by=.lastTimestamp \
    -o 'jsonpath={range .items[?(@.type=="Warning")]}{.involvedObject.name}{": "}{.reason}{": "}{.message}{"\n"}{end}' |
    grep "^$job" | uniq || kubectl describe pods --selector "job-name=$job"
  kubectl delete job "$job" --wait=false
  exit 1
}

# Until it has ended well, or for good.
state='' waited=0
until [[ $state == *Complete* || $state == *Failed* ]]; do
  [ "$waited" -lt "${START_SECONDS:-600}" ] || give_up >&2
  sleep 1
  # A cluster that does not answer is waited for likewise.
  state=$(kubectl get job "$job" -o 'jsonpath={.status.ready} {.status.conditions[?(@.status=="True")].type}') || state=''
  if [[ $state == 1* ]]; then waited=0; else waited=$((waited + 1)); fi
done
kubectl logs "job/$job" || true  # it has said why; the command has ended all the same
[[ $state != *Complete* ]] || exit 0
# Of the last pod: those before it were replaced.  There may be none any more.
status=$(kubectl get pods --selector "job-name=$job" --sort-by=.metadata.creationTimestamp \
  -o 'jsonpath={range .items[*]}{.status.containerStatuses[0].state.terminated.exitCode}{"\n"}{end}' |
  tail -n 1) || status=''
[[ $status =~ ^[1-9][0-9]*$ ]] || status=1
exit "$status"
