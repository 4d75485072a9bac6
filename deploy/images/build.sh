#!/usr/bin/env bash
# Builds the programs and makes an image of each variant: an archive that podman and containerd
# load.  Prints a line for each: archive, digest, bytes.
#
# usage: deploy/images/build.sh [--out FOLDER] [--repository NAME] [--libraries FOLDER]...
#                               [VARIANT...]
#        deploy/images/build.sh --tree FOLDER [--libraries FOLDER]... VARIANT
#   VARIANT            sightline (everything), sightline-router (the router, and the sightlinectl
#                      that needs no LibTorch), or, instead of sightline, sightline-cuda
#                      (everything, on CUDA); default: the first two, and with a LIBTORCH_HOME
#                      sightline-router and sightline-cuda
#   --out FOLDER       where VARIANT.tar is put; default ~/.cache/sightline/images
#   --repository NAME  what the image is named after when it is loaded: NAME/VARIANT:REVISION;
#                      default localhost
#   --tree FOLDER      instead of an archive, the files of the image in an empty folder, owned as in
#                      the image: for the Containerfile, as root
#   --libraries FOLDER where else sightline-cuda may take libraries from, and read what wheels
#                      record of them; LIBTORCH_HOME and CUDA_HOME need not be named
#
# environment:
#   LIBTORCH_HOME      a LibTorch with CUDA, for a trainer in sightline-cuda that uses GPUs
#   CUDA_HOME          CUDA for sightline-cuda, whose nvcc compiles servers that use GPUs;
#                      default /usr/local/cuda
#   REVISION           of the sources; default: git's, and "-changed" if files are not as committed
#   SOURCE_DATE_EPOCH  when the image is said to be created, in seconds; default: git's commit
#
# exit status: 0 done, 1 something failed (a message says what to do), 2 wrong usage.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

fail() { printf 'images: %s\n' "$*" >&2; exit 1; }
usage_error() { printf 'images: %s\nsee %s --help\n' "$*" "$0" >&2; exit 2; }

out=${HOME:-/root}/.cache/sightline/images repository=localhost tree='' libraries=() variants=()
while [ $# -gt 0 ]; do
  case $1 in
    --out | --repository | --tree | --libraries)
      [ -n "${2:-}" ] || usage_error "$1 needs a value"
      case $1 in
        --out) out=$2 ;;
        --repository) repository=$2 ;;
        --tree) tree=$2 ;;
        --libraries) libraries+=(--libraries "$(realpath -m -- "$2")") ;;
      esac
      shift
      ;;
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    sightline | sightline-router | sightline-cuda) variants+=("$1") ;;
    *) usage_error "unknown argument '$1'" ;;
  esac
  shift
done
[ -z "$tree" ] || [ ${#variants[@]} = 1 ] || usage_error "--tree takes one variant"
if [ ${#variants[@]} = 0 ]; then variants=(sightline-router "sightline${LIBTORCH_HOME:+-cuda}"); fi
without='' on_cuda=''
for variant in "${variants[@]}"; do
  case $variant in
    sightline) without=yes ;;
    sightline-cuda) on_cuda=yes ;;
  esac
done
[ -z "$without" ] || [ -z "$on_cuda" ] || usage_error "sightline-cuda holds what sightline does, built otherwise; build one of them, and then the other"
[ -z "$without" ] || [ -z "${LIBTORCH_HOME:-}" ] || usage_error "sightline holds no CUDA; build it without LIBTORCH_HOME, which is $LIBTORCH_HOME"
[ -n "$on_cuda" ] || [ ${#libraries[@]} = 0 ] || usage_error "--libraries is for sightline-cuda, which is not built"
out=$(realpath -m -- "$out") tree=${tree:+$(realpath -m -- "$tree")}

if [ -n "${LIBTORCH_HOME:-}" ]; then
  # What Debian has it keeps safe, and tells of; without CUDA there is nothing to gain.
  for library in libtorch_cuda.so libc10_cuda.so; do
    [ -e "$LIBTORCH_HOME/lib/$library" ] || fail "LIBTORCH_HOME=$LIBTORCH_HOME is a LibTorch without CUDA (no lib/$library); build without LIBTORCH_HOME, with Debian's"
  done
  libraries+=(--libraries "$(realpath -- "$LIBTORCH_HOME")" --needs libtorch_cuda)
fi
config=()
if [ -n "$on_cuda" ]; then
  cuda=${CUDA_HOME:-/usr/local/cuda}
  if [ -n "${CUDA_HOME:-}" ] || [ -d "$cuda" ]; then libraries+=(--libraries "$(realpath -m -- "$cuda")"); fi
  if [ -x "$cuda/bin/nvcc" ]; then
    config=(--config=cuda_release)
    libraries+=(--needs libcublasLt)
  elif [ -z "${LIBTORCH_HOME:-}" ]; then
    fail "there is no $cuda/bin/nvcc, which compiles servers for GPUs; set CUDA_HOME"
  else
    printf 'images: there is no %s/bin/nvcc: the trainer can use GPUs, servers cannot\n' "$cuda" >&2
  fi
fi

"$root/deploy/bazel/setup.sh" "$here/packages.txt"

# What the image says of its sources; on a bare machine git has come just now.
ask_git() { git -C "$root" "$@" || fail "git does not know this tree; set REVISION and SOURCE_DATE_EPOCH"; }
revision=${REVISION:-}
if [ -z "$revision" ]; then
  revision=$(ask_git rev-parse HEAD)
  [ -z "$(ask_git status --porcelain)" ] || revision+=-changed
fi
created=${SOURCE_DATE_EPOCH:-$(ask_git log -1 --format=%ct)}

targets=(//services/router:router //services/sightlinectl:sightlinectl_small)
if [ "${variants[*]}" != sightline-router ]; then
  for service in corpus_encoder evaluator index_search query_encoder reranker sightlinectl trainer; do
    targets+=("//services/$service:$service")
  done
fi
cd "$root"
bazel build --noshow_progress "${config[@]}" "${targets[@]}" >&2 || fail "the build failed; its messages are above"
bin=$(bazel info "${config[@]}" bazel-bin 2>/dev/null)/services
faiss=$(bazel info output_base 2>/dev/null)/external/faiss/LICENSE

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Symbols stay in Bazel's outputs, which have the same build id as what is shipped.
for target in "${targets[@]##*/}"; do  # FOLDER:PROGRAM
  strip -o "$work/${target#*:}" "$bin/${target/://}"
done
if [ -n "$tree" ]; then
  mkdir -p "$tree"
  [ -z "$(ls -A "$tree")" ] || fail "$tree is not empty"
  where=(--tree "$tree")
else
  mkdir -p "$out"
  where=(--archives "$out" --repository "$repository")
fi
/usr/bin/python3 -B "$here/image.py" --programs "$work" --license "$root/LICENSE" \
  --faiss "$(sed -n 's/^faiss_version=//p' "$root/deploy/bazel/setup.sh"):$faiss" \
  --revision "$revision" --created "$created" "${where[@]}" "${libraries[@]}" "${variants[@]}"
