#!/usr/bin/python3
"""podman in a cluster's place: `kubectl` for the few commands of the README's way from an empty
cluster to an answer, and `ctr` for the one by which a node gets an image.  Manifests are what the
real kubectl renders, and `podman kube play` runs them.  What it is asked for and does not have, it
refuses.

All pods are on one network, and each name of a Service is that network's one address.  One node,
one replica, and nothing that a control plane does: nothing is scheduled, probed, tried again or
replaced, and no network policy, budget or autoscaler has any effect.

usage: kubectl COMMAND...  or  ctr COMMAND..., as a link to this file

environment:
  CLUSTER       a folder of its own: `podman` is the program to call, and `hosts` what all its
                containers have as /etc/hosts (base_hosts_file)
  REAL_KUBECTL  renders overlays
"""

import copy
import json
import os
import re
import subprocess
import sys
import time

import yaml

CLUSTER = os.environ.get("CLUSTER", "")
ADDRESS = "10.0.0.1"  # of the pods' network
POLL_SECONDS = 0.5


class Refused(Exception):
    pass


def podman(*arguments, **options):
    return subprocess.run([os.path.join(CLUSTER, "podman"), *arguments], check=False, **options)


def told(*arguments):
    """What podman prints; Refused with what it says if it fails."""
    done = podman(*arguments, capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"podman {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def documents():
    with open(os.path.join(CLUSTER, "applied.json"), encoding="utf-8") as source:
        return json.load(source)


def of_kind(kind):
    return {d["metadata"]["name"]: d for d in documents() if d["kind"] == kind}


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)([smh])", text).groups()
    return int(number) * {"s": 1, "m": 60, "h": 3600}[unit]


# --- what is run ---


def adapted(name, spec):
    """A pod's, in which a volume of its own is one of podman's by another name than those of other
    pods; Secrets are plain values, since podman's versions want them in forms of their own; and no
    ports are: they say only what a program listens at, and podman takes them for some to publish."""
    spec = copy.deepcopy(spec)
    for container in spec["containers"]:
        container.pop("ports", None)
        sources = container.pop("envFrom", [])
        container["envFrom"] = [source for source in sources if "secretRef" not in source]
        container["env"] = container.get("env", []) + [
            {"name": key, "value": value} for source in sources if "secretRef" in source
            for key, value in secret(source["secretRef"]["name"]).items()]
    for volume in spec.get("volumes", []):
        for kind in {"emptyDir", "ephemeral"} & set(volume):
            del volume[kind]
            volume["persistentVolumeClaim"] = {"claimName": f"{name}-{volume['name']}"}
    return spec


def named(spec, kind):
    """The ConfigMaps ("configMap") or Secrets ("secret") that a pod's volumes and environment name."""
    sources = [source for container in spec["containers"] for source in container.get("envFrom", [])]
    return sorted({v[kind]["name"] for v in spec.get("volumes", []) if kind in v} |
                  {source[f"{kind}Ref"]["name"] for source in sources if f"{kind}Ref" in source})


def secret(name):
    """Its values by name, or None if there is none."""
    path = os.path.join(CLUSTER, f"secret-{name}.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as source:
        return json.load(source)


def play(name, spec):
    """As the pod `name`, with the ConfigMaps that it names."""
    maps = of_kind("ConfigMap")
    played = [maps[each] for each in named(spec, "configMap")]
    played.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": adapted(name, spec)})
    path = os.path.join(CLUSTER, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as target:
        yaml.safe_dump_all(played, target)
    told("kube", "play", "--network", "host", path)


def run_with_input(name, spec):
    """A pod of one container that reads what is attached, which `podman kube play` does not give."""
    spec = adapted(name, spec)
    [container] = spec["containers"]
    claims = {v["name"]: v["persistentVolumeClaim"]["claimName"] for v in spec["volumes"]}
    options = [f"--volume={claims[m['name']]}:{m['mountPath']}" for m in container["volumeMounts"]]
    context = spec["securityContext"]
    if container["securityContext"]["readOnlyRootFilesystem"]:
        options += ["--read-only", "--read-only-tmpfs=false"]
    options += [f"--cap-drop={name}" for name in container["securityContext"]["capabilities"]["drop"]]
    told("create", "--interactive", f"--name={name}-job", "--network=host", "--pull=never",
         "--security-opt=no-new-privileges", f"--user={context['runAsUser']}:{context['runAsGroup']}", *options,
         container["image"], *container["args"])
    told("start", f"{name}-job")


# --- kubectl ---


def apply(overlay):
    done = subprocess.run([os.environ["REAL_KUBECTL"], "kustomize", overlay], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise Refused(done.stderr.strip())
    rendered = list(yaml.safe_load_all(done.stdout))
    with open(os.path.join(CLUSTER, "applied.json"), "w", encoding="utf-8") as target:
        json.dump(rendered, target)
    with open(os.path.join(CLUSTER, "hosts"), "w", encoding="utf-8") as target:
        target.write("127.0.0.1 localhost\n")
        target.writelines(f"{ADDRESS} {name}\n" for name in sorted(of_kind("Service")))
    for claim in of_kind("PersistentVolumeClaim"):
        told("volume", "create", claim)
    play_deployments()
    for document in rendered:
        print(f"{document['kind'].lower()}/{document['metadata']['name']} created")


def play_deployments():
    """Those whose Secrets are there; the others wait for them."""
    playing = told("pod", "ps", "--format", "{{.Name}}").split()
    for name, deployment in of_kind("Deployment").items():
        spec = deployment["spec"]["template"]["spec"]
        if name not in playing and None not in map(secret, named(spec, "secret")):
            play(name, spec)


def create_secret(name, path):
    with open(path, encoding="utf-8") as source:
        values = dict(line.split("=", 1) for line in source.read().splitlines())
    with open(os.path.join(CLUSTER, f"secret-{name}.json"), "w", encoding="utf-8") as target:
        json.dump(values, target)
    play_deployments()
    print(f"secret/{name} created")


def set_namespace(namespace):
    if namespace not in of_kind("Namespace"):
        raise Refused(f"there is no namespace {namespace}")


def create_job(name, template):
    job = of_kind("CronJob")[template]["spec"]["jobTemplate"]["spec"]
    spec = job["template"]["spec"]
    if job.get("completions", 1) != 1:
        raise Refused(f"{template} has {job['completions']} completions, and this is one node")
    if any(container.get("stdin") for container in spec["containers"]):
        run_with_input(name, spec)
    else:
        if job.get("completionMode") == "Indexed":
            spec["containers"][0].setdefault("env", []).append({"name": "JOB_COMPLETION_INDEX", "value": "0"})
        play(name, spec)
    print(f"job.batch/{name} created")


def state_of(container):
    return json.loads(told("container", "inspect", "--format", "{{json .State}}", container))


def runs(job):
    return state_of(f"{job}-job")["Running"]


def is_complete(job):
    state = state_of(f"{job}-job")
    if state["Running"]:
        return False
    if state["ExitCode"] != 0:
        raise Refused(f"job/{job} ended with {state['ExitCode']}: {logs(f'{job}-job')}")
    return True


def logs(container):
    done = podman("logs", "--tail", "20", container, capture_output=True, text=True)
    return done.stdout + done.stderr


def is_available(deployment):
    """As the kubelet's probe finds it: the server says that it serves something of each index."""
    container = of_kind("Deployment")[deployment]["spec"]["template"]["spec"]["containers"][0]
    port = container["ports"][0]["containerPort"]
    if not state_of(f"{deployment}-server")["Running"]:
        raise Refused(f"{deployment} has ended: {logs(f'{deployment}-server')}")
    done = podman("exec", "router-server", "sightlinectl", "status", "--json", f"{deployment}:{port}",
                  capture_output=True, text=True)
    if done.returncode:
        return False
    generations = json.loads(done.stdout)[0]["status"].get("generations", [])
    return {g["generation"]["index"] for g in generations if g["state"] == "READY"} == {"images", "captions"}


def wait(what, names, holds, timeout):
    end = time.monotonic() + seconds(timeout)
    for name in names:
        while not holds(name):
            if time.monotonic() > end:
                raise Refused(f"timed out waiting for {name}")
            time.sleep(POLL_SECONDS)
        print(f"{what}/{name} condition met")


def attach(job):
    # podman passes on what it is sent, and its end.
    if podman("attach", f"{job}-job", stdout=subprocess.DEVNULL).returncode or not is_complete(job):
        raise Refused(f"job/{job} did not take its input: {logs(f'{job}-job')}")


def run_in(deployment, *command):
    return podman("exec", f"{deployment}-server", *command).returncode


# Words -> what to do with the groups of the match.
KUBECTL = [
    (r"apply -k (\S+)", apply),
    (r"config set-context --current --namespace (\S+)", set_namespace),
    (r"create secret generic (\S+) --from-env-file=(\S+)", create_secret),
    (r"create job (\S+) --from=cronjob/(\S+)", create_job),
    (r"wait --for=jsonpath=\{\.status\.ready\}=1 --timeout=(\S+) job/(\S+)",
     lambda timeout, job: wait("job.batch", [job], runs, timeout)),
    (r"wait --for=condition=Complete --timeout=(\S+) job/(\S+)",
     lambda timeout, job: wait("job.batch", [job], is_complete, timeout)),
    (r"wait --for=condition=Available --timeout=(\S+) deployment --all",
     lambda timeout: wait("deployment.apps", sorted(of_kind("Deployment")), is_available, timeout)),
    (r"attach -i job/(\S+)", attach),
]


def kubectl(arguments):
    if arguments[:1] == ["exec"] and arguments[2:3] == ["--"] and arguments[1].startswith("deploy/"):
        return run_in(arguments[1][len("deploy/"):], *arguments[3:])
    text = " ".join(arguments)
    for pattern, function in KUBECTL:
        match = re.fullmatch(pattern, text)
        if match:
            function(*match.groups())
            return 0
    raise Refused(f"this kubectl has no '{text}'")


def ctr(arguments):
    """`ctr images import`: the image has to be there by the name that a pod gives it."""
    match = re.fullmatch(r"-n k8s\.io images import --base-name (\S+) --digests (\S+)", " ".join(arguments))
    if not match:
        raise Refused(f"this ctr has no '{' '.join(arguments)}'")
    name, archive = match.groups()
    told("load", "--input", archive)
    if name not in told("images", "--format", "{{.Repository}}").split():
        raise Refused(f"{archive} holds no {name}")
    return 0


def main():
    name = os.path.basename(sys.argv[0])
    try:
        return {"kubectl": kubectl, "ctr": ctr}[name](sys.argv[1:])
    except Refused as error:
        print(f"{name} over podman: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
