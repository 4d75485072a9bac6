#!/usr/bin/env bash
# Reads all of our files that include LibTorch against the headers of another Debian's, which are
# fetched from the mirror that this machine takes packages from, and installed nowhere.  Makes a
# pack first (pack.sh) if none is named; then check.sh --headers-only.
#
# usage: deploy/gpu/against_libtorch.sh [--release NAME] [--pack PACK] [--out FOLDER]
#   --release NAME  of Debian; default trixie, whose LibTorch is 2.6
#   --pack PACK     what pack.sh made; default: made now
#   --out FOLDER    where all is kept; default ~/.cache/sightline/gpu/libtorch-NAME
#
# exit status: 0 all can be read, 1 something cannot, or failed, 2 wrong usage, 3 something is
# missing here, 75 stopped at check.sh's limit: run it again, and it goes on.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() { printf 'against_libtorch: %s\n' "$*" >&2; exit 1; }
usage_error() { printf 'against_libtorch: %s\nsee %s --help\n' "$*" "$0" >&2; exit 2; }

release=trixie pack='' out=''
while [ $# -gt 0 ]; do
  case $1 in
    --release | --pack | --out)
      [ -n "${2:-}" ] || usage_error "$1 needs a value"
      case $1 in
        --release) release=$2 ;;
        --pack) pack=$2 ;;
        --out) out=$2 ;;
      esac
      shift
      ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) usage_error "unknown argument '$1'" ;;
  esac
  shift
done
[[ $release =~ ^[a-z]+$ ]] || usage_error "--release is '$release'; it is a name like trixie"
out=$(realpath -m -- "${out:-${HOME:-/root}/.cache/sightline/gpu/libtorch-$release}")

home=$out/libtorch
if [ ! -e "$home/include/torch/csrc/api/include/torch/torch.h" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/lists/partial"
  apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=-"
    -o "Dir::State::lists=$work/lists" -o "APT::Sandbox::User=root")
  while read -r mirror; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" >"$work/sources.list"
    if (cd "$work" && "${apt[@]}" update && "${apt[@]}" download "libtorch-dev/$release") &>"$work/log"; then break; fi
  done < <(apt-get update --print-uris | sed -n "s|^'\(.*\)/dists/.*|\1|p" | awk '!seen[$0]++')
  found=("$work"/libtorch-dev_*.deb)
  [ -e "${found[0]}" ] ||
    fail "no mirror of this machine's apt sources has libtorch-dev of Debian's release $release; apt's last words: $(tail -n 1 "$work/log" 2>/dev/null)"
  rm -rf "$out/package"
  mkdir -p "$out" "$home"
  dpkg -x "${found[0]}" "$out/package"
  ln -sfn "$out/package/usr/include" "$home/include"
fi
if [ -z "$pack" ]; then
  pack=$out/pack
  "$here/pack.sh" --out "$pack"
fi
LIBTORCH_HOME=$home "$here/check.sh" --headers-only --out "$out/check" "$pack"
