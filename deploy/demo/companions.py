#!/usr/bin/python3
"""Pictures to learn from beside the demo's own, of Debian packages that draw the same things
otherwise: ruby-gemojione and libjs-emojify (emoji), fonts-symbola (emoji and other signs, in
black), iso-flags-png-320x240, fonts-materialdesignicons-webfont and fonts-font-awesome (signs)
and pysiogame (a picture dictionary for children).  No index holds them.

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
import unicodedata

from PIL import Image, ImageDraw, ImageFont

PACKAGES = ["ruby-gemojione", "libjs-emojify", "fonts-symbola", "iso-flags-png-320x240",
            "fonts-materialdesignicons-webfont", "fonts-font-awesome", "pysiogame"]
SIDE = 192  # pixels of a sign; more than the model sees
SKIN_TONES = range(0x1F3FB, 0x1F3FF + 1)
FLAG_LETTERS = range(0x1F1E6, 0x1F1FF + 1)  # two of them are a country's flag
# Blocks of arrows, of signs of all kinds, of playing cards and of pictographs.
SYMBOLS = [*range(0x2190, 0x2200), *range(0x2600, 0x27C0), *range(0x1F0A0, 0x1F100),
           *range(0x1F300, 0x1FB00)]


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


def read_emoji(packages):
    """Code points, captions, and the drawings' names; of one code point each, and flags."""
    index = the_file(packages, "rubygems-integration/all/gems/gemojione-*/config/index.json")
    with open(index, encoding="utf-8") as file:
        emoji = json.load(file)
    for name, facts in sorted(emoji.items()):
        points = [int(point, 16) for point in facts["unicode"].split("-")]
        is_flag = len(points) == 2 and all(point in FLAG_LETTERS for point in points)
        if not is_flag and (len(points) > 1 or points[0] in SKIN_TONES):
            continue
        captions = [facts["name"].replace("_", " ")]
        if facts["keywords"]:
            captions.append(" ".join(facts["keywords"]))
        yield points, captions, facts["unicode"], name


def add_emoji(packages, emoji, writer):
    """Two drawings of each emoji of one code point, and two of each country's flag."""
    drawings = os.path.dirname(
        the_file(packages, "rubygems-integration/all/gems/gemojione-*/assets/png/1F600.png"))
    others = os.path.dirname(the_file(packages, "javascript/emojify.js/images/emoji/*.png"))
    flags = os.path.dirname(the_file(packages, "iso-flags-png-320x240/jp.png"))
    for points, captions, drawing, name in emoji:
        country = "".join(chr(ord("a") + point - FLAG_LETTERS[0]) for point in points
                          if point in FLAG_LETTERS)
        for kind, picture in [
            ("gemojione", os.path.join(drawings, drawing + ".png")),
            ("emojify", os.path.join(others, name + ".png")),
            ("iso", os.path.join(flags, country + ".png")),
        ]:
            if os.path.exists(picture):
                writer.add(f"{kind}/emoji/{drawing.lower()}", captions,
                           lambda to, picture=picture: shutil.copyfile(picture, to))


def draw(font, code, to):
    left, top, right, bottom = font.getbbox(chr(code))
    side = max(SIDE, right - left, bottom - top)
    picture = Image.new("RGB", (side, side), "white")
    at = ((side - left - right) / 2, (side - top - bottom) / 2)
    ImageDraw.Draw(picture).text(at, chr(code), font=font, fill="black")
    picture.save(to)


def add_symbols(packages, emoji, writer):
    """A black drawing of each symbol that the font has, by its emoji's or its Unicode name."""
    font = ImageFont.truetype(the_file(packages, "fonts/truetype/**/Symbola*.ttf"), SIDE * 3 // 4)
    captions_of = {points[0]: captions for points, captions, _, _ in emoji if len(points) == 1}
    missing = bytes(font.getmask(chr(0x10FFFF)))
    for code in SYMBOLS:
        captions = captions_of.get(code, [unicodedata.name(chr(code), "").lower()])
        drawn = font.getmask(chr(code))
        if captions[0] and code not in SKIN_TONES and any(drawn) and bytes(drawn) != missing:
            writer.add(f"symbols/emoji/{code:04x}", captions,
                       lambda to, code=code: draw(font, code, to))


def add_signs(packages, writer, kind, font_file, names_file, pattern):
    """A black drawing of each sign of a font, on white, by its name in a style sheet."""
    font = ImageFont.truetype(the_file(packages, font_file), SIDE - 16)
    with open(the_file(packages, names_file), encoding="utf-8") as file:
        names = re.findall(pattern, file.read())
    for name, code in names:
        words = re.sub(r"-(outline|variant|box|o)(?=-|$)", "", name).replace("-", " ")
        writer.add(f"{kind}/{name}", [words],
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
        emoji = list(read_emoji(packages))
        add_emoji(packages, emoji, writer)
        add_symbols(packages, emoji, writer)
        add_signs(packages, writer, "signs", "fonts/truetype/**/materialdesignicons-webfont.ttf",
                  "fonts-materialdesignicons-webfont/scss/_variables.scss",
                  r'"([a-z0-9-]+)": "?\\?([0-9a-fA-F]{4,5})"?')
        add_signs(packages, writer, "awesome", "fonts/truetype/**/fontawesome-webfont.ttf",
                  "fonts-font-awesome/scss/_variables.scss",
                  r'\$fa-var-([a-z0-9-]+): "\\([0-9a-f]{4})"')
        add_dictionary(packages, writer)
    writer.finish()
    print(f"{len(writer.lines)} pictures in {sys.argv[1]}")


if __name__ == "__main__":
    main()
