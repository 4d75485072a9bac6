"""Made-up regions and pictures are what their readers take, and fall into the splits that they are for."""

import ast
import hashlib
import json
import os
import struct
import zipfile
import zlib

import cases
import made_up_pictures
import made_up_regions


def array(archive, name):
    """Of an .npy: its header and its numbers."""
    content = archive.read(name + ".npy")
    size, = struct.unpack_from("<H", content, 8)
    header = ast.literal_eval(content[10:10 + size].decode())
    letter = {"<f2": "e", "<f4": "f"}[header["descr"]]
    numbers = struct.unpack(f"<{(len(content) - 10 - size) // struct.calcsize(letter)}{letter}", content[10 + size:])
    return header, (10 + size) % 64, numbers


class RegionsTest(cases.Case):

    def setUp(self):
        super().setUp()
        made_up_regions.write(self.folder, 3)

    def test_an_item_is_an_archive_as_numpy_writes_it(self):
        with zipfile.ZipFile(os.path.join(self.folder, "000002.npz")) as archive:
            header, rest, features = array(archive, "features")
            self.assertEqual((header, rest), ({"descr": "<f2", "fortran_order": False, "shape": (36, 2048)}, 0))
            self.assertEqual(len(features), 36 * 2048)
            self.assertTrue(all(0.5 <= abs(number) < 1 for number in features))
            self.assertAlmostEqual(sum(features) / len(features), 0, places=1)
            boxes = array(archive, "norm_bb")[2]
            for i in range(36):
                left, top, right, bottom = boxes[4 * i:4 * i + 4]
                self.assertTrue(0 <= left < right <= 1 and 0 <= top < bottom <= 1)
            confidences = array(archive, "conf")[2]
            self.assertEqual(list(confidences), sorted(confidences, reverse=True))

    def test_each_item_has_numbers_and_a_caption_of_its_own(self):
        contents = set()
        for number in range(3):
            with open(os.path.join(self.folder, f"00000{number}.npz"), "rb") as file:
                contents.add(file.read())
        self.assertEqual(len(contents), 3)
        with open(os.path.join(self.folder, "captions.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([line["path"] for line in lines], ["000000.npz", "000001.npz", "000002.npz"])
        self.assertEqual(len({line["captions"][0] for line in lines}), 3)
        for line in lines:
            self.assertEqual(line["tags"], line["captions"][0].split()[1:3])

    def test_equal_arguments_make_equal_files(self):
        other = os.path.join(self.folder, "other")
        made_up_regions.write(other, 1)
        for folder in (self.folder, other):
            with open(os.path.join(folder, "000000.npz"), "rb") as file:
                content = file.read()
        with open(os.path.join(self.folder, "000000.npz"), "rb") as file:
            self.assertEqual(file.read(), content)


class PicturesTest(cases.Case):

    def setUp(self):
        super().setUp()
        self.count = made_up_pictures.write(self.folder, training=12, validation=5)
        with open(os.path.join(self.folder, "captions.jsonl"), encoding="utf-8") as file:
            self.lines = [json.loads(line) for line in file]

    def test_a_caption_is_of_one_picture(self):
        self.assertEqual((self.count, len(self.lines)), (17, 17))
        self.assertEqual(len({line["captions"][0] for line in self.lines}), 17)
        self.assertRegex(self.lines[0]["captions"][0], r"^a [a-z]+ [a-z]+ on [a-z]+$")

    def test_names_say_the_split(self):
        # common/dataset/splits.h
        first = [hashlib.sha256(line["path"].encode()).digest()[0] for line in self.lines]
        self.assertTrue(all(26 <= byte < 38 for byte in first[:5]))
        self.assertTrue(all(38 <= byte for byte in first[5:]))

    def test_a_picture_is_a_png_of_rows_of_rgb(self):
        for line in self.lines:
            with open(os.path.join(self.folder, line["path"]), "rb") as file:
                content = file.read()
            self.assertEqual(content[:16], b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
            self.assertEqual(struct.unpack_from(">IIBB", content, 16), (96, 96, 8, 2))
            size, = struct.unpack_from(">I", content, 33)
            self.assertEqual(len(zlib.decompress(content[41:41 + size])), 96 * (1 + 3 * 96))

    def test_more_than_there_are_combinations_are_refused(self):
        with self.assertRaises(ValueError):
            made_up_pictures.write(self.folder, training=541, validation=0)


cases.main()
