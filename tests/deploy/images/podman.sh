# shellcheck shell=bash disable=SC2154  # $work is the caller's
# To be sourced: podman apart from the machine's own.  Its images, containers, volumes and settings
# are below $work, and go with that folder when what runs there has been removed.  Whoever sources
# it has a function `fail`.

# Writes the program $work/podman, whose containers have that /etc/hosts in place of the machine's.
prepare_podman() {  # HOSTS
  cat >"$work/containers.conf" <<END
[containers]
base_hosts_file = "$1"
default_ulimits = []
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
END
  cat >"$work/podman" <<END
#!/bin/sh
CONTAINERS_CONF='$work/containers.conf' exec podman --root '$work/storage' --runroot '$work/run' \\
  --tmpdir '$work/libpod' --storage-driver overlay --storage-opt overlay.skip_mount_home=true "\$@"
END
  chmod +x "$work/podman"
}

podman_here() { "$work/podman" "$@"; }

# Whether any container runs, asked without an image of ours.  What podman says is in $work/output.
containers_run() {
  local file
  mkdir -p "$work/rootfs"/{dev,etc,proc,run,sys,tmp}
  for file in /bin/true $(ldd /bin/true | grep -o '/[^ ]*'); do
    install -D "$file" "$work/rootfs$file"
  done
  podman_here run --rm --network none --rootfs "$work/rootfs" /bin/true >"$work/output" 2>&1
}

# What the kernel says of a server's process, whatever podman was asked for.
check_confined() {  # NAME CONTAINER
  local pid
  pid=$(podman_here inspect --format '{{.State.Pid}}' "$2")
  grep -qE '^Uid:(\s65532){4}$' "/proc/$pid/status" || fail "$1 runs as another user"
  grep -qE '^CapEff:\s0+$' "/proc/$pid/status" || fail "$1 has capabilities"
  awk '$5 == "/" {print $6}' "/proc/$pid/mountinfo" | grep -q '^ro' || fail "$1 may write to its root"
}
