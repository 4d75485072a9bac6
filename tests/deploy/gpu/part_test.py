"""What a part says of its programs, and what it keeps and forgets."""

import json
import os

import cases
import part


class PartTest(cases.Case):

    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, "out")
        os.makedirs(self.out)

    def part(self, name="search"):
        return part.Part(name, os.path.join(self.folder, "bin"), self.out, cpu_only=True)

    def program(self, *lines):
        os.chmod(self.write("bin/tool", "\n".join(["#!/bin/sh", *lines, ""]).encode()), 0o755)

    def said(self):
        with open(os.path.join(self.out, "search.txt"), encoding="utf-8") as file:
            return file.read()

    def test_what_an_earlier_run_has_measured_is_gone_when_a_part_begins(self):
        for name in ("search.json", "search-0.json", "search-2.json", "stack.json", "models.json"):
            self.write("out/" + name, b"{}")
        self.part()
        self.assertEqual(sorted(os.listdir(self.out)), ["models.json", "search.txt", "stack.json", "tmp"])
        self.part("models")
        self.assertFalse(os.path.exists(os.path.join(self.out, "stack.json")))

    def test_a_program_that_is_not_there_is_missing_and_named(self):
        with self.assertRaisesRegex(part.MissingError, "out/../bin/tool is not built; run --only build"):
            part.Part("search", os.path.join(self.out, "../bin"), self.out, True).run("tool")

    def test_how_a_program_ends_is_said(self):
        for line, words in (("exit 3", "tool ended with status 3\n"), ("kill -11 $$", "tool ended with signal 11\n"),
                            ("kill -9 $$", "tool ended with signal 9; out of memory?\n")):
            self.program(line)
            self.assertNotEqual(self.part().run("tool")[0], 0)
            self.assertTrue(self.said().endswith(words), self.said())

    def test_bytes_that_are_no_text_are_told(self):
        self.program(r"printf 'a\377b\n'")
        self.assertEqual(self.part().run("tool"), (0, "a\ufffdb\n"))

    def test_what_programs_keep_for_themselves_lies_in_out_and_is_deleted_by_the_next_part(self):
        self.program('touch "$TMPDIR/left"; echo "$TMPDIR"')
        self.assertEqual(self.part().run("tool")[1].strip(), os.path.join(self.out, "tmp"))
        self.assertEqual(os.listdir(os.path.join(self.out, "tmp")), ["left"])
        self.part()
        self.assertEqual(os.listdir(os.path.join(self.out, "tmp")), [])

    def test_programs_have_the_lock_of_who_started_the_part(self):
        lock = os.open(self.write("lock"), os.O_RDONLY)
        self.addCleanup(os.close, lock)
        os.set_inheritable(lock, True)
        self.program(f"readlink /proc/self/fd/{lock}")
        self.assertTrue(self.part().run("tool")[1].endswith("/lock\n"))

    def test_json_is_seen_when_it_is_whole(self):
        one = self.part()
        one.write("search.json", {"whole": True})
        self.assertFalse(os.path.exists(os.path.join(self.out, "search.json.new")))
        with self.assertRaises(TypeError):
            one.write("search.json", {"runs": [1], "not": object()})
        self.assertEqual(one.read("search.json"), {"whole": True})

    def test_damaged_json_is_named(self):
        one = self.part()
        self.write("out/stack.json", b'{"passes": [')
        with self.assertRaisesRegex(part.PartError, "out/stack.json is damaged"):
            one.read("stack.json")
        self.assertIsNone(one.read("nothing.json"))

    def test_a_program_that_measures_nothing_has_not_held_unless_it_says_why(self):
        for measured, held in (({}, True), ({"passes": [1]}, True), ({"passes": []}, False), ([], False),
                               ({"passes": [], "left_out": "no CUDA"}, True)):
            self.program(f"echo '{json.dumps(measured)}' >\"$2\"")
            self.assertEqual(self.part().measured("search-0.json", "tool")[0], held, measured)
        self.program("exit 0")
        self.assertEqual(self.part().measured("search-0.json", "tool"), (False, None))

    def test_a_part_says_whether_it_held_beside_what_it_has_measured(self):
        for value, kept in (({"items": 3}, {"items": 3}), ([1], {"runs": [1]}), (None, {})):
            one = self.part()
            one.write("search.json", value)
            one.end(3)
            self.assertEqual(one.read("search.json"), kept | {"held": False, "status": 3})
        one.end(0)
        self.assertTrue(one.read("search.json")["held"])


cases.main()
