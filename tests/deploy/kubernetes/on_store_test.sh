#!/usr/bin/env bash
# on_store.sh makes a Job of the template with the command that it is given, and ends as the Job
# does, or when no pod of it has run for too long.  A fake stands for the cluster; what is done
# without one, the real kubectl does.
#
# usage: on_store_test.sh ROOT TOOLS    TOOLS is what tools.sh prints
set -euo pipefail
script=$1/deploy/kubernetes/on_store.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WORK=$work REAL=$2/usr/bin/kubectl
cat >"$work/kubectl" <<'END'
#!/usr/bin/env bash
[ "$1 $2" = "--namespace somewhere" ] || exit 1
case $* in
  *"create job"*"--from=cronjob/sightlinectl --dry-run=client"*)
    echo "$5" >"$WORK/job"
    echo '{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": {"template": {"spec":
      {"restartPolicy": "Never", "containers": [{"name": "job", "image": "i", "args": ["sightlinectl", "describe"]}]}}}}' ;;
  *"patch --local"*) shift 2; exec "$REAL" "$@" ;;
  *"create -f -"*) cat >"$WORK/created.json" ;;
  *"get job"*)  # a line each time, and the last one for good
    head -n 1 "$WORK/state"
    [ "$(wc -l <"$WORK/state")" -le 1 ] || sed -i 1d "$WORK/state" ;;
  *"get events"*) sed "s/JOB/$(cat "$WORK/job")/" "$WORK/events" ;;
  *"delete job"*) echo "$5" >"$WORK/deleted" ;;
  *"get cronjob sightlinectl -o jsonpath={.metadata.labels.sightline/object-store}")
    # Without the file, nobody answers.
    cat "$WORK/label" ;;
  *"logs job/"*) echo "images is now g1" ;;
  *"get pods --selector job-name=$(cat "$WORK/job") --sort-by=.metadata.creationTimestamp -o jsonpath="*)
    cat "$WORK/status" ;;
  *) exit 1 ;;
esac
END
# shellcheck disable=SC2016  # the inner shell's
printf '#!/bin/sh\necho >>"$WORK/slept"\n' >"$work/sleep"
chmod +x "$work/kubectl" "$work/sleep"
PATH=$work:$PATH

passed=0 failed=0
case_of() {  # NAME COMMAND...: a case that passes if the command does
  local name=$1
  shift
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name"; fi
}
args_are() { [ "$(/usr/bin/python3 -c 'import json, os; print(json.load(open(os.environ["WORK"] + "/created.json"))["spec"]["template"]["spec"]["containers"][0]["args"])')" = "$1" ]; }
fails() { ! "$@" >/dev/null; }

echo '0 SuccessCriteriaMet Complete' >"$work/state"
: >"$work/label"
case_of "the log is printed" test "$("$script" somewhere describe images)" = "images is now g1"
case_of "the command is the Job's" args_are "['sightlinectl', 'describe', 'images', '--store=/var/lib/sightline/store']"
"$script" somewhere publish images 'a "b\c' >/dev/null
case_of "arguments are taken as they are" args_are "['sightlinectl', 'publish', 'images', 'a \"b\\\\c', '--store=/var/lib/sightline/store']"
"$script" somewhere verify images --store /elsewhere >/dev/null
case_of "a place that is named is left" args_are "['sightlinectl', 'verify', 'images', '--store', '/elsewhere']"
printf true >"$work/label"
"$script" somewhere rollback images --from g2 >/dev/null
case_of "of one store, the object store" \
  args_are "['sightlinectl', 'rollback', 'images', '--from', 'g2', '--object-store=\$(SIGHTLINE_OBJECT_STORE)']"
"$script" somewhere publish images g1 >/dev/null
case_of "of both, both" \
  args_are "['sightlinectl', 'publish', 'images', 'g1', '--store=/var/lib/sightline/store', '--object-store=\$(SIGHTLINE_OBJECT_STORE)']"
echo '0 FailureTarget Failed' >"$work/state"
for code in 1 2 75; do
  echo "$code" >"$work/status"
  ended=0
  "$script" somewhere verify images >/dev/null || ended=$?
  case_of "it ends as the command did, with $code" test "$ended" = "$code"
done
printf '137\n75\n' >"$work/status"
ended=0
"$script" somewhere verify images >/dev/null || ended=$?
case_of "where pods were replaced, as the last one did" test "$ended" = 75
for code in '' 0; do
  echo "$code" >"$work/status"
  ended=0
  "$script" somewhere verify images >/dev/null || ended=$?
  case_of "a Job that fails, nobody knows how ('$code')" test "$ended" = 1
done
rm "$work/created.json"
ended=0
"$script" somewhere rollback images 2>"$work/told" || ended=$?
case_of "a rollback of whatever is current is refused" test "$ended" = 2
case_of "with how to find out what is" grep -q 'on_store.sh somewhere describe images' "$work/told"
case_of "and nothing is done" test ! -e "$work/created.json"
mv "$work/label" "$work/away"
ended=0
"$script" somewhere publish images g2 2>/dev/null || ended=$?
case_of "a cluster that does not answer is not one without an object store" test "$ended" = 1
case_of "and nothing is published" test ! -e "$work/created.json"
mv "$work/away" "$work/label"

# Nobody waits for a pod that nothing lets run; the first of these events is another's.
export START_SECONDS=3
printf 'somebody-elses-x: BackOff: is restarted\nJOB-x: FailedScheduling: 0/2 nodes are available\n' >"$work/events"
echo '0 ' >"$work/state"
: >"$work/slept"
case_of "a pod that does not start ends the wait" fails "$script" somewhere publish images g2 2>"$work/told"
case_of "when its time is up" test "$(wc -l <"$work/slept")" = 3
case_of "what the cluster says is told" grep -q "^$(cat "$work/job")-x: FailedScheduling: 0/2 nodes" "$work/told"
case_of "and nothing of others" fails grep somebody "$work/told"
case_of "the Job does not publish later" cmp -s "$work/deleted" "$work/job"
printf '%s\n' '0 ' '0 ' '1 ' '1 ' '1 ' '1 ' '1 ' '0 ' '0 SuccessCriteriaMet Complete' >"$work/state"
case_of "a command that runs may take longer" test "$("$script" somewhere verify images)" = "images is now g1"
case_of "a command is wanted" fails "$script" somewhere
echo "cases: $passed passed, $failed failed"
[ "$failed" = 0 ]
