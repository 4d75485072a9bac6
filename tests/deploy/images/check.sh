#!/usr/bin/env bash
# Builds the images twice, in other folders and with another environment, and compares them; looks
# at what they hold; copies them by skopeo; loads them by podman and containerd; and lets a fleet of
# containers encode pictures, serve and answer: as nobody's user, on a read-only root, without
# capabilities.
# Nothing of it touches the images, containers and settings of this machine.
#
# usage: tests/deploy/images/check.sh
#
# environment:
#   SIGHTLINE_CONTAINERS  "yes": this machine can run containers, so that it is a failure if none
#                         runs.  Without it that is only said, and what needs none is checked
#
# exit status: 0 all held, 1 something did not, or failed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
readonly user=65532
readonly variants=(sightline sightline-router)
readonly programs=(corpus_encoder evaluator index_search query_encoder reranker router
  sightlinectl tar trainer)

# shellcheck source=tests/deploy/images/podman.sh
source "$here/podman.sh"

say() { printf 'images: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

work=$(mktemp -d)
containerd_pid=''
declare -A containers  # name -> id
started=()             # ids, in order

stop() {
  local i
  # The first has the network of the others.
  for ((i = ${#started[@]} - 1; i >= 0; --i)); do
    podman_here rm --force --time 0 "${started[i]}" >/dev/null 2>&1 || true
  done
  if [ -n "$containerd_pid" ]; then
    kill "$containerd_pid" 2>/dev/null || true
    wait "$containerd_pid" || true
  fi
  rm -rf --one-file-system "$work"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Shows what a command says only if it fails.
quiet() {
  "$@" >"$work/output" 2>&1 || { local status=$?; cat "$work/output" >&2; return "$status"; }
}

# --- what needs no container ---

# The same images from the same sources, whatever else differs.
build_twice() {
  say "building"
  "$root/deploy/images/build.sh" --out "$work/first" >"$work/first.txt"
  (umask 077 && TZ=Asia/Tokyo LC_ALL=C TMPDIR=$work HOME=${HOME:-/root} \
    "$root/deploy/images/build.sh" --out "$work/second" >"$work/second.txt")
  local variant
  for variant in "${variants[@]}"; do
    cmp "$work/first/$variant.tar" "$work/second/$variant.tar" ||
      fail "$variant was built twice and differs: $(digest_of "$variant"), $(digest_of "$variant" second)"
    say "$variant: $(digest_of "$variant") twice, $(stat -c %s "$work/first/$variant.tar") bytes"
  done
  rm -r "$work/second"
}

digest_of() {  # VARIANT [RUN]
  sed -n "s|.*/$1\.tar \(sha256:[0-9a-f]*\) .*|\1|p" "$work/${2:-first}.txt"
}

# The layers of an archive, unpacked one over the other; prints the listing of all.
unpack() {  # VARIANT FOLDER
  local layer
  mkdir -p "$2" "$work/layout"
  tar -xf "$work/first/$1.tar" -C "$work/layout"
  /usr/bin/python3 - "$work/layout" <<'PY' >"$work/layers"
import json, sys
def blob(digest): return f"{sys.argv[1]}/blobs/" + digest.replace(":", "/")
index = json.load(open(f"{sys.argv[1]}/index.json"))
for layer in json.load(open(blob(index["manifests"][0]["digest"])))["layers"]:
    print(blob(layer["digest"]))
PY
  while read -r layer; do
    zstd -dcq "$layer" | tar -xvvp --numeric-owner -C "$2" -f -
  done <"$work/layers"
  rm -r "$work/layout"
}

# Libraries are those that the loader of this machine takes, and nothing can be run that is not
# ours.
look_inside() {
  local variant program
  for variant in "${variants[@]}"; do
    unpack "$variant" "$work/tree" >"$work/listing"
    (cd "$work/tree" && find . -type f -perm /111 | grep -vE '\.so(\.|$)' | sort) >"$work/runnable"
    (cd "$work/tree" && find ./usr/bin -type f | sort) >"$work/expected"
    cmp "$work/runnable" "$work/expected" || fail "$variant holds something else that can be run"
    [ -z "$(find "$work/tree" -type f -perm /6000)" ] || fail "$variant holds a file that changes user"
    if awk '$2 != "0/0" {print $2, $NF}' "$work/listing" | grep -vxF "$user/$user var/lib/sightline/"; then
      fail "$variant: files of others than root"
    fi
    for program in "$work/tree/usr/bin"/*; do
      ldd "$program" | awk '$2 == "=>" {print $1}'
    done | sort -u >"$work/expected"
    find "$work/tree/usr/lib" -name '*.so*' ! -name 'ld-linux*' -printf '%f\n' | sort -u >"$work/found"
    diff "$work/expected" "$work/found" >&2 || fail "$variant has other libraries than its programs need"
    rm -r "$work/tree"
  done
}

# A registry gets what has the digest that build.sh tells, by the README's command; a folder is one
# here.
push_by_skopeo() {
  local variant
  for variant in "${variants[@]}"; do
    quiet skopeo copy --preserve-digests "oci-archive:$work/first/$variant.tar" "dir:$work/pushed"
    [ "sha256:$(sha256sum <"$work/pushed/manifest.json" | cut -d ' ' -f 1)" = "$(digest_of "$variant")" ] ||
      fail "skopeo brings $variant to a registry under another digest"
    rm -r "$work/pushed"
  done
}

# --- podman, apart from the machine's own ---

load_by_podman() {
  local variant
  for variant in "${variants[@]}"; do
    quiet podman_here load --input "$work/first/$variant.tar"
    [ "$(podman_here images --digests --format '{{.Digest}}' --filter "reference=localhost/$variant")" = \
      "$(digest_of "$variant")" ] || fail "podman took $variant under another digest"
  done
  image=$(podman_here images --quiet --filter reference=localhost/sightline)
  router_image=$(podman_here images --quiet --filter reference=localhost/sightline-router)
}

# OPTIONS... IMAGE COMMAND...: as a pod that is restricted runs it, without even a /tmp.
restricted() {
  podman_here run --pull never --read-only --read-only-tmpfs=false --cap-drop all \
    --security-opt no-new-privileges "$@"
}

run_programs() {
  local program
  for program in "${programs[@]}"; do
    quiet restricted --rm --network none "$image" "$program" --help
  done
  for program in router sightlinectl; do
    quiet restricted --rm --network none "$router_image" "$program" --help
  done
  # What it lacks, it names, with where that is.
  if restricted --rm --network none "$router_image" sightlinectl convert >"$work/output" 2>&1; then
    fail "the router's sightlinectl converts"
  fi
  grep -qF 'the image `sightline`' "$work/output" || { cat "$work/output" >&2; fail "convert failed otherwise"; }
  if restricted --rm --network none "$image" sh -c true >"$work/output" 2>&1; then
    fail "the image holds a shell"
  fi
  grep -qF 'executable file not found' "$work/output" || { cat "$work/output" >&2; fail "sh failed otherwise"; }
}

# --- a fleet ---

readonly inside=/var/lib/sightline

# Jobs write the store; servers read it.
make_store() {
  local model
  mkdir "$work/pictures" "$work/store" "$work/config"
  /usr/bin/python3 -B "$here/pictures.py" "$work/pictures"
  # mktemp made this folder for its owner alone.
  chmod 711 "$work"
  chmod -R a+rX "$work/pictures" "$work/config"
  chown "$user:$user" "$work/store"
  model=$(job sightlinectl add-model /model --store "$inside/store")
  quiet job corpus_encoder --store "$inside/store" --model "$model" --corpus folder:/pictures
}

job() {
  restricted --rm --network none --tmpfs /tmp --volume "$work/store:$inside/store" \
    --volume "$work/pictures:/pictures:ro" --volume "$root/deploy/demo/model:/model:ro" "$image" "$@" \
    2>"$work/job.log" || { cat "$work/job.log" >&2; fail "$1 failed in its container"; }
}

# NAME IMAGE PROGRAM YAML: a server with a store that it cannot write.  All share the network of
# the first, which has none to the outside.
begin() {
  local network=none options=(--volume "$work/config:/etc/sightline:ro")
  [ -z "${containers[router]:-}" ] || network=container:${containers[router]}
  [ "$1" = router ] || options+=(--volume "$work/store:$inside/store:ro" --tmpfs "$inside/state")
  printf '%s\n' "$4" >"$work/config/$1.yaml"
  chmod a+r "$work/config/$1.yaml"
  quiet restricted --rm --network "$network" "${options[@]}" "$2" "$3" --config "/etc/sightline/$1.yaml" --check
  containers[$1]=$(restricted --detach --network "$network" "${options[@]}" "$2" \
    "$3" --config "/etc/sightline/$1.yaml")
  started+=("${containers[$1]}")
}

start_fleet() {
  local backend="{store: $inside/store, indexes: [images, captions], state_dir: $inside/state}"
  begin router "$router_image" router "$(printf '%s\n' 'encoders: ["127.0.0.1:7401"]' \
    'rerankers: ["127.0.0.1:7403"]' 'indexes:' '  images: {shards: [{addresses: ["127.0.0.1:7402"]}]}' \
    '  captions: {shards: [{addresses: ["127.0.0.1:7402"]}]}')"
  begin encoder "$image" query_encoder "$backend"
  begin search "$image" index_search "$backend"
  begin reranker "$image" reranker "$backend"
  local i
  for ((i = 0; i < 300; ++i)); do
    if ctl status >"$work/status" 2>&1 && [ "$(grep -c ' READY ' "$work/status")" = 2 ]; then return; fi
    sleep 0.2
  done
  cat "$work/status" >&2
  for i in "${!containers[@]}"; do say "$i:"; podman_here logs --tail 5 "${containers[$i]}" >&2; done
  fail "the fleet does not become ready"
}

ctl() {
  podman_here exec "${containers[router]}" sightlinectl "$@"
}

ask() {
  ctl query "a red square on white" --top-k 3 --timeout 20s >"$work/answer" 2>&1 ||
    { cat "$work/answer" >&2; fail "the fleet did not answer"; }
  grep -qE '_on_.*\.png' "$work/answer" || { cat "$work/answer" >&2; fail "the answer names no picture"; }
}

# SIGTERM drains a server, which is process 1 of its container.
stop_fleet() {
  local name status
  for name in router encoder search reranker; do
    quiet podman_here stop --time 30 "${containers[$name]}"
    status=$(podman_here inspect --format '{{.State.ExitCode}}' "${containers[$name]}")
    [ "$status" = 0 ] || fail "$name ended with status $status"
  done
}

# --- containerd ---

load_by_containerd() {
  cat >"$work/containerd.toml" <<END
version = 2
root = "$work/containerd"
state = "$work/containerd.run"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "$work/containerd.sock"
END
  containerd --config "$work/containerd.toml" >"$work/containerd.log" 2>&1 &
  containerd_pid=$!
  local i variant unpacked=(--no-unpack)
  for ((i = 0; i < 300; ++i)); do
    ! ctr_here version >/dev/null 2>&1 || break
    sleep 0.1
  done
  for variant in "${variants[@]}"; do
    # One is enough to run; podman has unpacked the larger one.
    [ "$variant" = sightline ] || unpacked=()
    quiet ctr_here images import --base-name "localhost/$variant" --digests "${unpacked[@]}" \
      "$work/first/$variant.tar"
    ctr_here images list | grep "^localhost/$variant@$(digest_of "$variant") " >/dev/null ||
      { ctr_here images list >&2; fail "containerd took $variant under another digest"; }
  done
  quiet ctr_here run --rm --read-only "localhost/sightline-router@$(digest_of sightline-router)" check router --help
}

ctr_here() { ctr --address "$work/containerd.sock" "$@"; }

main() {
  unset LIBTORCH_HOME  # images with it are of another variant
  "$root/deploy/bazel/setup.sh" "$here/packages.txt"
  build_twice
  look_inside
  push_by_skopeo
  prepare_podman /etc/hosts
  if ! containers_run; then
    cat "$work/output" >&2
    [ "${SIGHTLINE_CONTAINERS:-}" != yes ] || fail "no container runs here, although SIGHTLINE_CONTAINERS says so"
    say "LEFT OUT: no container runs here, for the reason above: images were built and looked at, not run"
    return
  fi
  load_by_podman
  run_programs
  say "every program starts"
  make_store
  start_fleet
  local name
  for name in "${!containers[@]}"; do check_confined "$name" "${containers[$name]}"; done
  ask
  stop_fleet
  say "a fleet of containers has answered: $(grep -m 1 png "$work/answer")"
  load_by_containerd
  say "podman and containerd have loaded both images"
}

main
