#!/usr/bin/env bash
# Runs a command in the root of another Debian, as root, with folders of this machine where they
# are here, read only.  What it mounts goes with it.
#
# usage: in_root.sh ROOT FOLDER... -- COMMAND...
set -euo pipefail
[ "$(id -u)" = 0 ] || exec sudo --preserve-env=OMP_NUM_THREADS,OPENBLAS_NUM_THREADS "$0" "$@"
if [ -z "${IN_ROOT_MOUNTS:-}" ]; then
  IN_ROOT_MOUNTS=1 exec unshare --mount --propagation private "$0" "$@"
fi
root=$1
shift
for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
touch "$root/etc/resolv.conf"
mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
while [ "$1" != -- ]; do
  mkdir -p "$root$1"
  mount --bind "$1" "$root$1"
  mount -o remount,bind,ro "$root$1"
  shift
done
shift
exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
  ${OMP_NUM_THREADS:+OMP_NUM_THREADS="$OMP_NUM_THREADS"} \
  ${OPENBLAS_NUM_THREADS:+OPENBLAS_NUM_THREADS="$OPENBLAS_NUM_THREADS"} chroot "$root" "$@"
