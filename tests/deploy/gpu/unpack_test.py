"""What is unpacked, what is refused, and with which words."""

import contextlib
import errno
import io
import lzma
import os
import sys
import tarfile

import cases
import unpack


def entry(name, content=b"", kind=tarfile.REGTYPE, link=""):
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, link, len(content)
    return member, content


PACK = (entry("pack", kind=tarfile.DIRTYPE), entry("pack/build.json", b"{}"),
        entry("pack/lib/a.so", os.urandom(100000)))


class UnpackTest(cases.Case):

    def setUp(self):
        super().setUp()
        self.archive = os.path.join(self.folder, "pack.tar.xz")
        self.out = os.path.join(self.folder, "out/pack")

    def pack(self, *entries):
        with lzma.open(self.archive, "wb") as packed, tarfile.open(fileobj=packed, mode="w") as tar:
            for member, content in entries:
                tar.addfile(member, io.BytesIO(content))

    def unpack(self):
        """The status, and what was said."""
        sys.argv = ["unpack.py", self.archive, self.out]
        with contextlib.redirect_stderr(io.StringIO()) as said:
            status = unpack.main()
        return status, said.getvalue()

    def refused(self, words):
        status, said = self.unpack()
        self.assertEqual((status, said.count("\n")), (1, 1), said)
        self.assertTrue(said.startswith(f"check: {self.archive} "), said)
        self.assertIn(words, said)
        self.assertFalse(os.path.exists(self.out))
        self.assertFalse(os.path.exists(self.out + ".new"))

    def test_a_pack_becomes_the_folder_and_what_was_there_is_gone(self):
        self.write("out/pack/old")
        self.write("out/pack.new/half")
        self.pack(*PACK)
        self.assertEqual(self.unpack(), (0, ""))
        self.assertEqual(sorted(os.listdir(self.out)), ["build.json", "lib"])
        self.assertEqual(os.path.getsize(os.path.join(self.out, "lib/a.so")), 100000)
        self.assertFalse(os.path.exists(self.out + ".new"))

    def test_what_would_lie_elsewhere_is_refused(self):
        for name in ("/etc/x", "pack/../../x", "../x", "x", "packs/x", "pack//etc/x", "pack/./x", "."):
            self.pack(*PACK, entry(name, b"x"))
            self.refused(f"is no archive of pack.sh: {name!r} does not lie below pack/")
        self.assertEqual(sorted(os.listdir(self.folder)), ["out", "pack.tar.xz"])

    def test_links_devices_and_files_with_holes_are_refused(self):
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE,
                     tarfile.GNUTYPE_SPARSE):
            self.pack(*PACK, entry("pack/x", kind=kind, link="/etc"))
            self.refused("'pack/x' is no regular file and no folder")
        self.pack(entry("pack", b"x"))
        self.refused("'pack' is no regular file and no folder")

    def test_a_file_that_comes_twice_or_as_a_folder_is_refused(self):
        self.pack(*PACK, entry("pack/build.json", b"other"))
        self.refused("File exists")
        self.pack(*PACK, entry("pack/build.json/x", b"other"))
        self.refused("pack.new/build.json")

    def test_an_archive_that_was_cut_anywhere_is_truncated(self):
        self.pack(*PACK)
        with open(self.archive, "rb") as file:
            whole = file.read()
        for length in (0, 40, len(whole) // 2, len(whole) - 1):
            self.write("pack.tar.xz", whole[:length])
            self.refused("is truncated")

    def test_an_archive_of_which_a_byte_was_changed_is_damaged(self):
        self.pack(*PACK)
        with open(self.archive, "rb") as file:
            whole = bytearray(file.read())
        whole[-60] ^= 1
        self.write("pack.tar.xz", bytes(whole))
        self.refused("is damaged")

    def test_what_is_no_archive_of_ours_is_said(self):
        self.write("pack.tar.xz", b"#!/bin/sh\n" * 99)
        self.refused("is no archive of pack.sh")
        self.write("pack.tar.xz", lzma.compress(b"no tar\n" * 999))
        self.refused("is no archive of pack.sh")
        self.pack(PACK[2])
        self.refused("is no archive of pack.sh: it has no pack/build.json")

    def test_a_full_disk_is_said(self):
        self.pack(*PACK)

        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")
        self.addCleanup(setattr, unpack.shutil, "copyfileobj", unpack.shutil.copyfileobj)
        unpack.shutil.copyfileobj = full
        self.refused("disk full")

    def test_an_archive_that_cannot_be_unpacked_leaves_the_folder_as_it_was(self):
        self.write("out/pack/build.json")
        self.write("pack.tar.xz", b"text")
        self.assertEqual(self.unpack()[0], 1)
        self.assertTrue(os.path.exists(os.path.join(self.out, "build.json")))


cases.main()
