#!/usr/bin/env bash
# Runs sightlinectl on the store of a fleet, as a Job of the template `sightlinectl`, prints what
# it says, and ends with 0 if it did.
#
# usage: on_store.sh NAMESPACE COMMAND [ARGUMENT...]
#   on_store.sh sightline rollback images
#   on_store.sh sightline publish images 5f9c2e
#   on_store.sh sightline verify images
set -euo pipefail
if [ $# -lt 2 ]; then
  sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 2
fi
namespace=$1
shift
arguments='"sightlinectl"'
for argument in "$@" --store=/var/lib/sightline/store; do
  argument=${argument//\\/\\\\}
  arguments+=", \"${argument//\"/\\\"}\""
done
job=sightlinectl-$(date +%s)-$$
kubectl() { command kubectl --namespace "$namespace" "$@"; }

kubectl create job "$job" --from=cronjob/sightlinectl --dry-run=client -o json |
  kubectl patch --local -f - --type=json -o json \
    -p "[{\"op\": \"replace\", \"path\": \"/spec/template/spec/containers/0/args\", \"value\": [$arguments]}]" |
  kubectl create -f - >/dev/null
# Whichever comes first: it has ended well, or for good.
until state=$(kubectl get job "$job" -o 'jsonpath={.status.conditions[?(@.status=="True")].type}') &&
  [[ $state == *Complete* || $state == *Failed* ]]; do
  sleep 1
done
kubectl logs "job/$job"
[[ $state == *Complete* ]]
