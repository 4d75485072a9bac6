"""What goes into a pack: headers that are included, data that is read, the same archive each time."""

import os
import struct
import tarfile

import cases
import headers
import libraries
import pack
from actions import PackError


def icu_library(files):
    """As libicudata has them: a header, where each lies, names, files."""
    header = struct.pack("<HBBHH4B4s", 32, 0xDA, 0x27, 20, 0, 0, 0, 2, 0, b"CmnD").ljust(32, b"\0")
    names = b"".join(name.encode() + b"\0" for name in files)
    name_at, data_at, places = 4 + 8 * len(files), 4 + 8 * len(files) + len(names), b""
    for name, content in files.items():
        places += struct.pack("<II", name_at, data_at)
        name_at, data_at = name_at + len(name) + 1, data_at + len(content)
    return b"\x7fELF" + b"\0" * 60 + header + struct.pack("<I", len(files)) + places + names + b"".join(files.values())


def icu_files(table):
    """Of such a table, with its header."""
    start, = struct.unpack_from("<H", table)
    count, = struct.unpack_from("<I", table, start)
    found = {}
    for i in range(count):
        name_at, data_at = struct.unpack_from("<II", table, start + 4 + 8 * i)
        end = struct.unpack_from("<I", table, start + 16 + 8 * i)[0] if i + 1 < count else len(table) - start
        name = table[start + name_at:table.index(b"\0", start + name_at)].decode()
        found[name] = table[start + data_at:start + end].rstrip(b"\0")
    return found


class PackTest(cases.Case):

    def test_headers_of_others_are_those_that_ours_name_to_the_last(self):
        source = self.write("tree/a/main.cc", b'#include "a/own.h"\n  #  include <yaml-cpp/yaml.h>\n'
                            b'#include <torch/types.h>\n')
        self.write("tree/a/own.h", b'#include "b.h"\n#include "absl/status/status.h"\n'
                   b'#include <cuda_runtime.h>\n')
        self.write("tree/a/b.h", b"#include <vector>\n")
        tree = os.path.join(self.folder, "tree")
        self.assertEqual(headers.named_headers([source], [tree]),
                         ["absl/status/status.h", "vector", "yaml-cpp/yaml.h"])
        self.assertEqual([os.path.basename(path) for path in headers.own_files([source], [tree])],
                         ["b.h", "main.cc", "own.h"])

    def test_icus_data_is_cut_to_what_is_read(self):
        library = icu_library({"icudt72l/af.res": b"language", "icudt72l/nfkc.nrm": b"normal",
                               "icudt72l/uemoji.icu": b"emoji", "icudt72l/zone/zu.res": b"zones"})
        self.assertEqual(icu_files(libraries.small_icu_data(library)),
                         {"icudt72l/nfkc.nrm": b"normal", "icudt72l/uemoji.icu": b"emoji"})

    def test_other_data_than_expected_is_refused(self):
        for library in (b"no library", icu_library({"icudt72l/af.res": b"", "icudt72l/zu.res": b""})):
            with self.assertRaisesRegex(PackError, "libicudata"):
                libraries.small_icu_data(library)

    def test_libraries_of_the_compiling_machine_are_not_packed(self):
        for name in ("torch_cpu", "cublas", "cublasLt", "pthread", "gomp", "openblas"):
            self.assertTrue(libraries.ELSEWHERE.fullmatch(name))
        for name in ("grpc++", "curl", "absl_time"):
            self.assertFalse(libraries.ELSEWHERE.fullmatch(name))

    def test_precompiled_headers_are_read_of_bazels_answer(self):
        xml = ('<query version="2"><rule class="precompiled_header" name="//deploy/bazel:precompiled">'
               '<list name="includes"><string value="&lt;vector&gt;"/><string value="&quot;a.h&quot;"/></list>'
               '</rule></query>')
        self.assertEqual(pack.precompiled_headers(xml), {"precompiled": ["<vector>", '"a.h"']})

    def test_a_pack_is_seen_whole_or_not_at_all(self):
        out = os.path.join(self.folder, "pack")
        self.write("pack/build.json", b"old")
        self.write("pack/lib/gone", b"old")
        self.write("pack.new/build.json", b"new")
        pack.put_in_place(out + ".new", out)
        self.assertEqual(sorted(os.listdir(self.folder)), ["pack", "pack.tar.xz"])
        self.assertEqual(os.listdir(out), ["build.json"])
        self.write("pack.new/build.json", os.urandom(1000))
        most, pack.MOST_BYTES = pack.MOST_BYTES, 100
        try:
            self.assertRaisesRegex(pack.PackError, "and 100 are allowed", pack.put_in_place, out + ".new", out)
        finally:
            pack.MOST_BYTES = most
        with open(os.path.join(out, "build.json"), "rb") as file:
            self.assertEqual(file.read(), b"new")
        self.assertNotIn("pack.tar.xz.new", os.listdir(self.folder))

    def test_equal_folders_make_equal_archives(self):
        archives = []
        for name in ("one", "two"):
            for path in (("b", "a/x") if name == "one" else ("a/x", "b")):
                os.utime(self.write(f"{name}/{path}", path.encode()), (1, len(archives)))
            archives.append(os.path.join(self.folder, name + ".tar.xz"))
            size = pack.write_archive(os.path.join(self.folder, name), archives[-1])
            self.assertEqual(size, os.path.getsize(archives[-1]))
        with open(archives[0], "rb") as one, open(archives[1], "rb") as two:
            self.assertEqual(one.read(), two.read())
        with tarfile.open(archives[0]) as archive:
            self.assertEqual(archive.getnames(), ["pack/b", "pack/a/x"])


cases.main()
