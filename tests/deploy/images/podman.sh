# shellcheck shell=bash disable=SC2154  # $work is the caller's
# To be sourced: podman apart from the machine's own.  Its images, containers, volumes and settings
# are below $work, and go with that folder when what runs there has been removed.

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
