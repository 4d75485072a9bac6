"""check.sh with stand-ins for what it calls: which parts run, what is said of them, and what it leaves alone."""

import json
import lzma
import os
import select
import shutil
import signal
import subprocess
import sys
import tarfile

import cases

HERE = os.path.dirname(os.path.abspath(sys.argv[1]))
# Does with a part what $DOES says of it, "search=3 faiss=waits": ends so, is killed, or waits.
PARTS = """
import os, signal, sys
name = sys.argv[1]
does = dict(word.split("=") for word in os.environ.get("DOES", "").split()).get(name, "0")
print("runs", name, flush=True)
if does == "waits":
    with open(os.environ["WAITING"], "w") as file:
        file.write(str(os.getpid()))
    signal.pause()
if does == "killed":
    os.kill(os.getpid(), 9)
sys.exit(int(does))
"""
TOOLS = "import os, sys; sys.exit(int(os.environ.get('TOOLS', '0')))\n"
GIT = b"#!/bin/sh\n[ -n \"$REVISION\" ] && echo \"$REVISION\"\n"
# Who is stopped at a limit need not wait for it.
TIMEOUT = b"#!/bin/sh\nshift 3\nexec /usr/bin/timeout -k 1 1 \"$@\"\n"
ALL = "build search faiss models eager fleet sanitizer encode train learn table"


def hears_signals():
    """A shell cannot trap what whoever runs this test ignores, as nohup does."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def is_running(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class CheckTest(cases.Case):

    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, "out")
        # Whoever opens it for one side waits for who opens the other.
        self.waiting = os.path.join(self.folder, "waiting")
        os.mkfifo(self.waiting)
        os.makedirs(os.path.join(self.folder, "clone"))
        for name in ("check.sh", "unpack.py"):
            shutil.copy(os.path.join(HERE, name), os.path.join(self.folder, "clone", name))
        for name, text in (("parts.py", PARTS), ("tools.py", TOOLS), ("ninja.py", "")):
            self.write("clone/" + name, text.encode())
        self.program("ninja", b"#!/bin/sh\necho built\nexit ${NINJA:-0}\n")
        self.program("git", GIT)
        self.pack = os.path.dirname(self.write("pack/build.json", b'{\n "objects": {},\n "revision": "abc"\n}'))

    def program(self, name, text):
        os.chmod(self.write("bin/" + name, text), 0o755)

    def start(self, *arguments, pack=None, **environment):
        environment = dict(os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}",
                           WAITING=self.waiting, **environment)
        run = subprocess.Popen(["bash", "clone/check.sh", "--out", self.out, *arguments, pack or self.pack],
                               cwd=self.folder, env=environment, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, preexec_fn=hears_signals)
        self.addCleanup(run.terminate)
        return run

    def check(self, *arguments, **environment):
        """The exit status, and what was said."""
        run = self.start(*arguments, **environment)
        said, _ = run.communicate(timeout=60)
        return run.returncode, said

    def kept(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return file.read()

    def statuses(self):
        return {each["part"]: each["status"] for each in json.loads(self.kept("summary.json"))}

    def wait_for_part(self):
        """The process that a part waits in, once it does."""
        with open(self.waiting, encoding="utf-8") as file:
            return int(file.read())

    def ends(self, process):
        try:
            ended = os.pidfd_open(process)
        except ProcessLookupError:
            return True
        self.addCleanup(os.close, ended)
        return bool(select.select([ended], [], [], 30)[0])

    def test_all_parts_run_in_their_order(self):
        status, said = self.check()
        self.assertEqual(status, 0, said)
        self.assertEqual([line[3:] for line in said.splitlines() if line.startswith("== ")], ALL.split() + ["all"])
        self.assertEqual(self.statuses(), dict.fromkeys(ALL.split(), 0))
        self.assertIn("built", self.kept("build.txt"))

    def test_parts_that_are_named_run_in_that_order_and_once(self):
        _, said = self.check("--only", "table", "--only", "search", "--only", "table", "--only", "faiss")
        self.assertEqual([line for line in said.splitlines() if line.startswith("runs ")],
                         ["runs search", "runs faiss", "runs table"])

    def test_folders_of_others_are_left_alone(self):
        mine = self.write("out/pack/mine")
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assertIn(f"{self.out} is there and not check.sh's (it has no kept_by_check); name a new or empty", said)
        self.assertTrue(os.path.exists(mine))
        self.assertEqual(os.listdir(self.out), ["pack"])
        shutil.rmtree(os.path.dirname(mine))
        self.assertEqual(self.check()[0], 0)
        self.assertEqual(self.check()[0], 0)

    def test_what_an_earlier_run_has_measured_is_gone_when_its_part_begins(self):
        self.check()
        self.write("out/search.json", b"{}")
        self.write("out/faiss.json", b"{}")
        self.check("--only", "search")
        self.assertFalse(os.path.exists(os.path.join(self.out, "search.json")))
        self.assertTrue(os.path.exists(os.path.join(self.out, "faiss.json")))

    def test_a_summary_of_an_earlier_run_is_gone_when_one_begins(self):
        self.check()
        status, _ = self.check(TOOLS="3")
        self.assertEqual(status, 3)
        self.assertFalse(os.path.exists(os.path.join(self.out, "summary.json")))
        self.assertFalse(os.path.exists(os.path.join(self.out, "summary.txt")))

    def test_something_wrong_outweighs_what_is_missing_and_others_are_looked_at_all_the_same(self):
        status, said = self.check(DOES="search=3 table=3")
        self.assertEqual(status, 3)
        self.assertRegex(said, r"search +\d+ s  something is missing, which is named above")
        self.assertEqual(self.check(DOES="search=3 faiss=1 table=3")[0], 1)
        self.assertEqual(self.statuses()["search"], 3)
        self.assertEqual(self.statuses()["sanitizer"], 0)

    def test_nothing_goes_without_programs(self):
        status, said = self.check(NINJA="1")
        self.assertEqual((status, self.statuses()), (1, {"build": 1}))
        self.assertIn("DID NOT HOLD", said)

    def test_a_part_that_others_killed_was_not_stopped_at_a_limit(self):
        status, said = self.check("--only", "search", DOES="search=killed")
        self.assertEqual((status, self.statuses()), (1, {"search": 1}))
        self.assertIn("killed, which was no limit of check.sh; out of memory?", said)

    def test_a_part_at_its_limit_is_stopped_and_it_is_said_what_helps(self):
        self.program("timeout", TIMEOUT)
        status, said = self.check("--only", "search", DOES="search=waits")
        self.assertEqual((status, self.statuses()), (75, {"search": 75}))
        self.assertIn("stopped at its limit; raise --minutes, or begin it anew with --only search", said)
        self.program("ninja", b"#!/bin/sh\nsleep 300\n")
        status, said = self.check("--only", "build")
        self.assertEqual(status, 75)
        self.assertIn("stopped at its limit; run it again, and it goes on", said)

    def test_when_the_time_for_all_is_over_the_table_is_told_all_the_same(self):
        path = os.path.join(self.folder, "clone/check.sh")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("left=$((minutes * 150 ", text)
        self.write("clone/check.sh", text.replace("left=$((minutes * 150 ", "left=$((minutes * 1 ").encode())
        self.check()
        self.write("out/encode.json", b"{}")
        status, said = self.check("--minutes", "1", "--only", "search", "--only", "encode", "--only", "table",
                                  DOES="search=waits table=3")
        self.assertEqual((status, self.statuses()), (75, {"search": 75, "encode": 75, "table": 3}))
        self.assertIn("not begun in all of 2 minutes; raise --minutes, or go on with --only encode", said)
        self.assertNotIn("runs encode", said)
        self.assertFalse(os.path.exists(os.path.join(self.out, "encode.json")))

    def test_an_interrupt_or_a_lost_connection_ends_what_runs_and_keeps_what_was_done(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            run = self.start(DOES="faiss=waits")
            part = self.wait_for_part()
            run.send_signal(number)
            said, _ = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 130, said)
            self.assertIn("check: interrupted in part faiss\n", said)
            self.assertFalse(is_running(part))
            self.assertEqual(self.statuses(), {"build": 0, "search": 0, "faiss": 130})
            self.assertRegex(self.kept("summary.txt"), r"faiss +\d+ s  interrupted\n$")

    def test_one_check_at_a_time_has_a_folder(self):
        run = self.start(DOES="search=waits")
        self.wait_for_part()
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assertIn(f"another check.sh uses {self.out} (see {self.out}/lock): PID {run.pid},", said)
        self.assertEqual(self.kept("lock"), f"{run.pid}\n")
        run.terminate()
        run.communicate(timeout=60)
        self.assertEqual(self.check()[0], 0)

    def test_what_a_killed_check_has_left_running_keeps_the_folder(self):
        run = self.start(DOES="search=waits")
        part = self.wait_for_part()
        run.kill()
        run.wait()
        self.assertIn("another check.sh uses", self.check()[1])
        os.kill(part, signal.SIGKILL)
        self.assertTrue(self.ends(part))
        run.communicate(timeout=60)
        self.assertEqual(self.check()[0], 0)

    def archive(self):
        with lzma.open(os.path.join(self.folder, "pack.tar.xz"), "wb") as packed, \
                tarfile.open(fileobj=packed, mode="w") as tar:
            tar.add(self.pack, "pack")
        return "pack.tar.xz"

    def test_an_archive_is_unpacked_once_and_again_where_that_was_deleted(self):
        archive = self.archive()
        self.assertEqual(self.check(pack=archive)[0], 0)
        kept = self.write("out/pack/kept")
        self.check(pack=archive)
        self.assertTrue(os.path.exists(kept))
        shutil.rmtree(os.path.join(self.out, "pack"))
        self.assertEqual(self.check(pack=archive)[0], 0)
        self.assertTrue(os.path.exists(os.path.join(self.out, "pack/build.json")))

    def test_an_archive_that_cannot_be_unpacked_is_named_as_given_and_leaves_no_mark(self):
        self.check(pack=self.archive())
        self.write("pack.tar.xz", b"text")
        status, said = self.check(pack="pack.tar.xz")
        self.assertEqual(status, 1)
        self.assertTrue(said.startswith("check: pack.tar.xz is no archive of pack.sh"), said)
        self.assertFalse(os.path.exists(os.path.join(self.out, "pack.of")))

    def test_which_revisions_pack_and_clone_are_is_said(self):
        _, said = self.check(REVISION="abc")
        self.assertTrue(said.startswith("the pack is of abc, this clone of abc\n=="), said)
        _, said = self.check(REVISION="def")
        self.assertIn("the pack is of abc, this clone of def\ncheck: warning: pack and clone differ;", said)
        _, said = self.check()
        self.assertIn("this clone of no revision that git knows\n==", said)


cases.main()
