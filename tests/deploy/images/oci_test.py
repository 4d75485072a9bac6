"""Images depend on their entries alone, and are what the specification of OCI says."""

import hashlib
import io
import json
import os
import subprocess
import tarfile
from unittest import mock

import cases
import oci
from oci import Entry

ANNOTATIONS = {"org.opencontainers.image.title": "planted"}


class OciTest(cases.Case):

    def entries(self, where="files"):
        """A file, a program, a link, a folder of somebody, and text."""
        return [
            Entry("/usr/bin/program", 0o755, source=self.write(f"{where}/program", b"run" * 9999)),
            Entry("/usr/share/data", source=self.write(f"{where}/data", b"data")),
            Entry("/bin", link="usr/bin"),
            Entry("/etc/passwd", content=b"root\n"),
            Entry("/var/lib/own", 0o755, owner=65532),
            Entry("/tmp", 0o1777),
        ]

    def layer(self, entries, name="layer"):
        return oci.write_layer(entries, os.path.join(self.folder, name))

    def members(self, blob):
        plain = subprocess.run(["zstd", "-dcq", blob.path], check=True, capture_output=True).stdout
        self.assertEqual("sha256:" + hashlib.sha256(plain).hexdigest(), blob.diff_id)
        with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
            return {member.name: member for member in tar.getmembers()}

    def archive(self, layers, name="localhost/planted:1", file="archive.tar"):
        path = os.path.join(self.folder, file)
        return oci.write_archive(layers, {"os": "linux"}, ANNOTATIONS, name, path), path

    def test_order_folder_time_and_umask_do_not_matter(self):
        first = self.layer(self.entries())
        there = self.entries("other/folder")
        for entry in there:
            if entry.source:
                os.utime(entry.source, (1, 1))
                os.chmod(entry.source, 0o700)
        before = os.umask(0o077)
        try:
            second = self.layer(there[::-1], "second")
        finally:
            os.umask(before)
        self.assertEqual((first.digest, first.diff_id), (second.digest, second.diff_id))
        digest, path = self.archive([first])
        again, other = self.archive([second], file="other.tar")
        self.assertEqual(digest, again)
        self.assertEqual(oci.file_digest(path), oci.file_digest(other))

    def test_content_mode_owner_and_link_matter(self):
        entries = [Entry("/a", content=b"1"), Entry("/b", link="a")]
        digests = {self.layer(other).digest for other in (
            entries, [Entry("/a", content=b"2"), entries[1]], [Entry("/a", 0o755, content=b"1"), entries[1]],
            [Entry("/a", content=b"1", owner=5), entries[1]], [entries[0], Entry("/b", link="c")])}
        self.assertEqual(len(digests), 5)

    def test_headers(self):
        members = self.members(self.layer(self.entries()))
        self.assertEqual(list(members), sorted(members))  # so folders come before what is in them
        self.assertEqual({m.mtime for m in members.values()}, {0})
        self.assertEqual({m.uname + m.gname for m in members.values()}, {""})
        self.assertEqual({name: (m.uid, m.gid) for name, m in members.items() if m.uid},
                         {"var/lib/own": (65532, 65532)})
        self.assertEqual(members["tmp"].mode, 0o1777)
        self.assertEqual(members["usr/bin/program"].mode, 0o755)
        self.assertEqual(members["usr/share/data"].mode, 0o644)
        self.assertTrue(members["usr"].isdir() and members["bin"].issym())

    def test_two_entries_for_one_path_are_refused(self):
        with self.assertRaisesRegex(ValueError, "/a"):
            self.layer([Entry("/a", content=b"1"), Entry("/a", content=b"2")])

    def test_a_file_that_is_gone_is_named(self):
        with self.assertRaisesRegex(OSError, "nowhere"):
            self.layer([Entry("/a", source=os.path.join(self.folder, "nowhere"))])

    def test_names_and_links_that_are_long_or_not_ascii(self):
        deep = "/" + "/".join(["d" * 60] * 6) + "/é"
        members = self.members(self.layer([Entry(deep, content=b"x"), Entry("/l", link=deep)]))
        self.assertIn(deep[1:], members)
        self.assertEqual(members["l"].linkname, deep)

    def test_the_archive_is_an_oci_layout(self):
        layers = [self.layer(self.entries()), self.layer([Entry("/top", content=b"t")], "top")]
        digest, path = self.archive(layers)
        with tarfile.open(path) as tar:
            files = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}

        def blob(descriptor):
            data = files["blobs/" + descriptor["digest"].replace(":", "/")]
            self.assertEqual(len(data), descriptor["size"])
            self.assertEqual("sha256:" + hashlib.sha256(data).hexdigest(), descriptor["digest"])
            return data

        self.assertEqual(json.loads(files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        listed, = json.loads(files["index.json"])["manifests"]
        self.assertEqual(listed["digest"], digest)
        manifest = json.loads(blob(listed))
        self.assertEqual(manifest["annotations"], ANNOTATIONS)
        self.assertEqual([layer["digest"] for layer in manifest["layers"]], [l.digest for l in layers])
        config = json.loads(blob(manifest["config"]))
        self.assertEqual(config["rootfs"]["diff_ids"], [layer.diff_id for layer in layers])
        for layer in manifest["layers"]:
            self.assertTrue(layer["mediaType"].endswith("+zstd"))
            blob(layer)
        self.assertEqual(len(files), 6)

    def test_the_name_is_no_part_of_the_image(self):
        layers = [self.layer(self.entries())]
        first, _ = self.archive(layers)
        second, _ = self.archive(layers, name="registry/other:2")
        self.assertEqual(first, second)

    def test_a_tree_is_the_same_as_a_layer(self):
        entries = self.entries()
        tree = os.path.join(self.folder, "tree")
        os.mkdir(tree)
        owners = {}
        with mock.patch("os.chown", lambda path, uid, gid: owners.update({path[len(tree) + 1:]: (uid, gid)})):
            oci.write_tree(entries, tree)
        members = self.members(self.layer(entries))
        found = [os.path.relpath(os.path.join(folder, name), tree)
                 for folder, folders, files in os.walk(tree) for name in folders + files]
        self.assertEqual(sorted(found), sorted(members))
        for name, member in members.items():
            status = os.lstat(os.path.join(tree, name))
            if member.issym():
                self.assertEqual(os.readlink(os.path.join(tree, name)), member.linkname)
                continue
            self.assertEqual(status.st_mode & 0o7777, member.mode, name)
            self.assertEqual(owners[name], (member.uid, member.gid))
            if member.isfile():
                self.assertEqual((status.st_size, int(status.st_mtime)), (member.size, 0))


if __name__ == "__main__":
    cases.main()
