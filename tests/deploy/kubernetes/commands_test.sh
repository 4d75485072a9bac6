#!/usr/bin/env bash
# Runs the ten commands of deploy/kubernetes/README.md, from an empty cluster to an answer, as they
# are written there, and then again with an object store (moto).  podman takes the cluster's place
# (podman_cluster.py), in a network of its own.  What is built, the Bazel of this tree builds; all
# else happens in a copy of deploy/, a repository of its own, so that nothing of the tree and the
# machine is touched.
#
# usage: tests/deploy/kubernetes/commands_test.sh
#
# environment:
#   SIGHTLINE_CONTAINERS  "yes": this machine can run containers, so that it is a failure if none
#                         runs.  Without it that is only said
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
# shellcheck source=tests/deploy/images/podman.sh
source "$here/../images/podman.sh"

say() { printf 'commands: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

work=$(mktemp -d)
network_pid=''  # of the process that holds the pods' network
store_pid=''    # of the object store
commands=()

remove_pods() {
  "$CLUSTER/podman" pod rm --all --force --time 0
  "$CLUSTER/podman" rm --all --force --time 0
  "$CLUSTER/podman" volume rm --all --force
} >/dev/null 2>&1

stop() {
  if [ -n "$network_pid" ]; then
    remove_pods || true
    kill $store_pid "$network_pid" 2>/dev/null || true
    wait "$network_pid" 2>/dev/null || true
  fi
  rm -rf --one-file-system "$work"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# One network for all pods, with one address beside the loopback: a resolver takes a machine that
# has no other for one without a network.
start_network() {
  # shellcheck disable=SC2016  # the inner shell's
  unshare --net sh -c \
    'ip link set lo up && ip address add 10.0.0.1/32 dev lo && : >"$CLUSTER/up" && exec sleep infinity' &
  network_pid=$!
  printf '#!/bin/sh\nexec nsenter --net=/proc/%s/ns/net "%s/podman" "$@"\n' "$network_pid" "$work" >"$CLUSTER/podman"
  chmod +x "$CLUSTER/podman"
  until [ -e "$CLUSTER/up" ]; do
    kill -0 "$network_pid" 2>/dev/null || return 1
    sleep 0.1
  done
}

# The tree that the commands are typed in, and the programs that stand before others of their name.
prepare_tree() {
  local name
  mkdir "$work/tree" "$work/bin"
  cp -a "$root/deploy" "$root/LICENSE" "$root/.gitignore" "$work/tree/"
  (cd "$work/tree" && git init --quiet && git add --all &&
    git -c user.name=test -c user.email=test@localhost commit --quiet --message "A tree without changes")
  mkdir "$work/tree/PICTURES"
  /usr/bin/python3 -B "$here/../images/pictures.py" "$work/tree/PICTURES"
  for name in kubectl ctr; do ln -s "$here/podman_cluster.py" "$work/bin/$name"; done
  printf '#!/bin/sh\ncd "%s" && exec "%s" "$@"\n' "$root" "$(command -v bazel)" >"$work/bin/bazel"
  printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
  chmod +x "$work/bin"/{bazel,sudo}
  unset REVISION SOURCE_DATE_EPOCH  # git tells
}

# What the commands make in the tree is no change of it.
check_revision() {
  local revision
  revision=$(git -C "$work/tree" rev-parse HEAD | cut -c 1-12)
  tar -xOf "$work/tree/images/sightline-router.tar" index.json | grep -F ":$revision\"" >/dev/null ||
    fail "the image is not named after the tree's revision, $revision"
}

readme() { /usr/bin/python3 -B "$here/readme.py" "$root/deploy/kubernetes/README.md" "$@"; }

run() {  # COMMAND...: each as it is typed
  local command begin
  for command in "$@"; do
    begin=$SECONDS
    (cd "$work/tree" && PATH=$work/bin:$PATH timeout 900 bash -euo pipefail -c "$command") >"$work/output" 2>&1 </dev/null ||
      { cat "$work/output" >&2; fail "failed: $command"; }
    say "$((SECONDS - begin)) s: $command"
  done
}

check_answer() {
  local name
  grep -qE '^ +1 .*_on_.*\.png' "$work/output" || { cat "$work/output" >&2; fail "the last command prints no hit"; }
  say "answered: $(grep -m 1 png "$work/output")"
  # What podman has made of the manifests' security.
  for name in $(podman_here ps --format '{{.Names}}' | grep -- '-server$'); do check_confined "$name" "$name"; done
}

# The same once more in a cluster that is empty again, with an object store in the pods' network.
# Images, models and pictures are there.
run_with_object_store() {
  local endpoint output
  remove_pods
  exec {output}< <(exec nsenter --net="/proc/$network_pid/ns/net" "$here/../object_store/moto.sh")
  store_pid=$!
  read -r endpoint <&"$output" || fail "moto does not start"
  readme overlay "$work/tree/deploy/kubernetes/overlays/dev" "$endpoint"
  printf 'AWS_ACCESS_KEY_ID=an-id\nAWS_SECRET_ACCESS_KEY=a-secret\n' >"$work/tree/keys.env"
  run "${commands[3]}" "$(readme secret)" "${commands[@]:5}"
  check_answer
  # Each has fetched for itself, and only what it reads.
  local volumes=$work/storage/volumes
  [ -n "$(find "$volumes/index-search-0-store" -name '*.vectors')" ] || fail "the shard has fetched no vectors"
  [ -z "$(find "$volumes/index-search-0-store" -name '*.features')" ] || fail "the shard has fetched features"
  [ -n "$(find "$volumes/reranker-store" -name '*.features')" ] || fail "the reranker has fetched no features"
}

main() {
  "$root/deploy/bazel/setup.sh" "$here/../images/packages.txt" "$root/tests/packages.txt"
  REAL_KUBECTL=$("$here/tools.sh")/usr/bin/kubectl
  export REAL_KUBECTL
  export CLUSTER=$work/cluster
  mkdir "$CLUSTER"
  echo "127.0.0.1 localhost" >"$CLUSTER/hosts"
  prepare_podman "$CLUSTER/hosts"
  if ! containers_run || ! start_network >"$work/output" 2>&1; then
    cat "$work/output" >&2
    [ "${SIGHTLINE_CONTAINERS:-}" != yes ] || fail "no container runs here, although SIGHTLINE_CONTAINERS says so"
    say "LEFT OUT: no container runs here, for the reason above: the README's commands were not run"
    return
  fi
  # Programs in containers run as another user, and mktemp made this folder for its owner alone.
  chmod 711 "$work"
  prepare_tree
  mapfile -t commands < <(readme commands)
  [ ${#commands[@]} = 10 ] || fail "the README has ${#commands[@]} commands"
  run "${commands[@]}"
  check_answer
  check_revision
  run_with_object_store
  say "the README's ten commands lead to an answer.  What podman cannot show: scheduling, probes by a" \
    "kubelet, replacement and retries, the cluster's DNS, network policies, autoscaling, volume classes"
}

main
