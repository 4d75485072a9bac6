#!/usr/bin/python3
"""Pictures to learn from beside the demo's own, of four Debian packages that draw the same
things otherwise: ruby-gemojione and libjs-emojify (emoji), fonts-materialdesignicons-webfont
(signs) and pysiogame (a picture dictionary for children).  No index holds them.

usage: deploy/demo/companions.py FOLDER

Writes pictures and a captions.jsonl, which `trainer prepare --learn-from folder:FOLDER`
reads.  An emoji's picture is named for its code point, .../emoji/1f988, so that prepare
leaves it out where that emoji is held out.  The packages are fetched with apt-get and
unpacked beside, not installed; python3-pil must be installed.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from PIL import Image, ImageDraw, ImageFont

PACKAGES = ["ruby-gemojione", "libjs-emojify", "fonts-materialdesignicons-webfont", "pysiogame"]
SIDE = 192  # pixels of a sign; more than the model sees
SKIN_TONES = range(0x1F3FB, 0x1F3FF + 1)
FLAG_LETTERS = range(0x1F1E6, 0x1F1FF + 1)  # two of them are a country's flag


def unpack(folder):
    if subprocess.run(["apt-get", "download", "-qq", *PACKAGES], cwd=folder).returncode:
        sys.exit("companions.py: apt's reason is above; run `apt-get update` if it knows no packages")
    for package in glob.glob(os.path.join(folder, "*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)


def the_files(folder, pattern):
    found = sorted(glob.glob(os.path.join(folder, "usr", "share", pattern), recursive=True))
    if not found:
        sys.exit(f"companions.py: the packages hold no {pattern}; has their layout changed?")
    return found


def the_file(folder, pattern):
    return the_files(folder, pattern)[0]


class Writer:
    def __init__(self, folder):
        self.folder = folder
        self.lines = []

    def add(self, item_id, captions, save, suffix=".png"):
        path = item_id + suffix
        full = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        save(full)
        self.lines.append({"path": path, "id": item_id, "captions": captions})

    def finish(self):
        with open(os.path.join(self.folder, "captions.jsonl"), "w", encoding="utf-8") as file:
            for line in self.lines:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def add_emoji(packages, writer):
    """Two drawings of each emoji of one code point, and one of each country's flag."""
    index = the_file(packages, "rubygems-integration/all/gems/gemojione-*/config/index.json")
    drawings = os.path.join(os.path.dirname(os.path.dirname(index)), "assets", "png")
    others = os.path.dirname(the_file(packages, "javascript/emojify.js/images/emoji/*.png"))
    with open(index, encoding="utf-8") as file:
        emoji = json.load(file)
    for name, facts in sorted(emoji.items()):
        code = facts["unicode"].lower()
        points = [int(point, 16) for point in code.split("-")]
        is_flag = len(points) == 2 and all(point in FLAG_LETTERS for point in points)
        if not is_flag and (len(points) > 1 or points[0] in SKIN_TONES):
            continue
        captions = [facts["name"].replace("_", " ")]
        if facts["keywords"]:
            captions.append(" ".join(facts["keywords"]))
        for kind, picture in [
            ("gemojione", os.path.join(drawings, facts["unicode"] + ".png")),
            ("emojify", os.path.join(others, name + ".png")),
        ]:
            if os.path.exists(picture):
                writer.add(f"{kind}/emoji/{code}", captions,
                           lambda to, picture=picture: shutil.copyfile(picture, to))


def draw(font, code, to):
    left, top, right, bottom = font.getbbox(chr(code))
    picture = Image.new("RGB", (SIDE, SIDE), "white")
    at = ((SIDE - left - right) / 2, (SIDE - top - bottom) / 2)
    ImageDraw.Draw(picture).text(at, chr(code), font=font, fill="black")
    picture.save(to)


def add_signs(packages, writer):
    """A black drawing of each sign of the font, on white."""
    font = ImageFont.truetype(
        the_file(packages, "fonts/truetype/**/materialdesignicons-webfont.ttf"), SIDE - 16)
    with open(the_file(packages, "fonts-materialdesignicons-webfont/scss/_variables.scss"),
              encoding="utf-8") as file:
        names = re.findall(r'"([a-z0-9-]+)": "?\\?([0-9a-fA-F]{4,5})"?', file.read())
    for name, code in names:
        words = re.sub(r"-(outline|variant|box)$", "", name).replace("-", " ")
        writer.add(f"signs/{name}", [words],
                   lambda to, code=code: draw(font, int(code, 16), to))


def add_dictionary(packages, writer):
    """A drawing of each word, in a folder of its kind."""
    for picture in the_files(packages, "games/pysiogame/res/images/art4apps/*/*.jpg"):
        kind, name = picture.split("/")[-2:]
        word = name[:-len(".jpg")]
        writer.add(f"dictionary/{kind}/{word}", [word.replace("_", " ")],
                   lambda to, picture=picture: shutil.copyfile(picture, to), ".jpg")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    writer = Writer(sys.argv[1])
    with tempfile.TemporaryDirectory() as packages:
        unpack(packages)
        add_emoji(packages, writer)
        add_signs(packages, writer)
        add_dictionary(packages, writer)
    writer.finish()
    print(f"{len(writer.lines)} pictures in {sys.argv[1]}")


if __name__ == "__main__":
    main()
