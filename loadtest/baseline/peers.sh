#!/usr/bin/env bash
# Ours against what one would run instead on a CPU, with the same base-size weights and pairs,
# taking turns, and how far each is from float32's scores: PyTorch 2.6 and ONNX Runtime 1.21.
#
# usage: loadtest/baseline/peers.sh [--root DIR] [--ours COMMAND --folder DIR] [ARGUMENTS]
#
#   --root DIR       a root of Debian 13, in which the peers run; they are packages of it
#   --ours COMMAND   the program beside this file, wherever it was built and runs (in a
#                    container, say): gets FOLDER, threads and precision.  Nothing is built
#   --folder DIR     goes with it: what run.sh or this has made at ~/.cache/sightline/baseline
#                    where ours was built, under the same path for COMMAND
#   ARGUMENTS        of peers.py: --rounds N, --questions N, --only NAME,..., --outliers,
#                    --json FILE
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
if [ "${1:-}" = --help ]; then sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; fi

fail() { printf 'peers: %s\n' "$*" >&2; exit 1; }

# shellcheck disable=SC1091
release_of() { (. "$1/etc/os-release" 2>/dev/null && echo "${VERSION_CODENAME:-}"); }

debian13='' ours='' folder='' rest=()
while [ $# -gt 0 ]; do
  case $1 in
    --root | --ours | --folder) [ $# -ge 2 ] || fail "$1 wants a value" ;;&
    --root) debian13=$(cd "$2" && pwd); shift ;;
    --ours) ours=$2; shift ;;
    --folder) folder=$(cd "$2" && pwd); shift ;;
    *) rest+=("$1") ;;
  esac
  shift
done
[ -z "$ours" ] || [ -n "$folder" ] || fail "--ours wants --folder, where it has its model"
[ -n "$ours" ] || [ -z "$folder" ] || fail "--folder goes with --ours; without it, both are made"

if [ "$(release_of "$debian13")" != trixie ]; then
  [ -z "$debian13" ] || fail "$debian13 is no root of Debian 13"
  fail "the peers are packages of Debian 13, which this machine does not run.  Make a root of it, as root, and go on there (3 GB):
    apt-get install debootstrap
    debootstrap --variant=minbase trixie DIR
    loadtest/baseline/peers.sh --root DIR"
fi

if [ -z "$ours" ]; then
  folder=${HOME:-/root}/.cache/sightline/baseline
  "$tree/deploy/bazel/setup.sh" "$tree/deploy/demo/packages.txt" "$here/packages.txt"
  # shellcheck source=loadtest/baseline/prepare.sh
  . "$here/prepare.sh"
  prepare "$tree" "$folder"
  prepare_outliers "$tree" "$folder"
  ours=$bin/loadtest/baseline/ours
fi

by=()
if [ -n "$debian13" ]; then
  by=("$here/in_root.sh" "$debian13" "$folder" "$here" --)
elif [ "$(id -u)" != 0 ]; then
  sudo=sudo
fi
mapfile -t packages < <(sed 's/ *#.*//' "$here/peers_packages.txt" | sed '/^$/d')
# dpkg-query fails if it does not know one of them.
if ! "${by[@]}" dpkg-query -W -f '${db:Status-Abbrev}\n' "${packages[@]}" 2>/dev/null | awk '$1 != "ii" {exit 1}'; then
  printf 'peers: installing %s\n' "${packages[*]}" >&2
  ${sudo:-} "${by[@]}" apt-get update -q >/dev/null
  ${sudo:-} "${by[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}" >/dev/null
fi
exec /usr/bin/python3 "$here/peers.py" "$folder" --ours "$ours" --peers-by "${by[*]@Q}" "${rest[@]}"
