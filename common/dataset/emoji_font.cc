#include "common/dataset/emoji_font.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr absl::string_view kPngSignature("\x89PNG\r\n\x1a\n", 8);
constexpr uint32_t kLastCodePoint = 0x10FFFF;

absl::Status Malformed(absl::string_view table, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("not a usable colour bitmap font: table ", table, ": ", what));
}

// Big-endian numbers and slices of one table, each checked against its length.
class Table {
 public:
  Table() = default;
  Table(absl::string_view name, absl::string_view bytes) : name_(name), bytes_(bytes) {}

  absl::string_view name() const { return name_; }
  bool empty() const { return bytes_.empty(); }

  absl::StatusOr<absl::string_view> Slice(uint64_t offset, uint64_t length) const {
    if (offset > bytes_.size() || length > bytes_.size() - offset) {
      return Malformed(name_, absl::StrCat(length, " bytes at ", offset, " of ", bytes_.size()));
    }
    return bytes_.substr(offset, length);
  }
  absl::StatusOr<uint64_t> U8(uint64_t offset) const { return Number(offset, 1); }
  absl::StatusOr<uint64_t> U16(uint64_t offset) const { return Number(offset, 2); }
  absl::StatusOr<uint64_t> U32(uint64_t offset) const { return Number(offset, 4); }

 private:
  absl::StatusOr<uint64_t> Number(uint64_t offset, int length) const {
    ASSIGN_OR_RETURN(const absl::string_view bytes, Slice(offset, length));
    uint64_t value = 0;
    for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }

  absl::string_view name_;
  absl::string_view bytes_;
};

absl::StatusOr<Table> FindTable(const Table& font, absl::string_view tag) {
  ASSIGN_OR_RETURN(const uint64_t count, font.U16(4));
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t record = 12 + 16 * i;
    ASSIGN_OR_RETURN(const absl::string_view found, font.Slice(record, 4));
    if (found != tag) continue;
    ASSIGN_OR_RETURN(const uint64_t offset, font.U32(record + 8));
    ASSIGN_OR_RETURN(const uint64_t length, font.U32(record + 12));
    ASSIGN_OR_RETURN(const absl::string_view bytes, font.Slice(offset, length));
    return Table(tag, bytes);
  }
  return Malformed(tag, "missing");
}

// Where a glyph's image lies in CBDT, and how it is framed there.
struct GlyphImage {
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t format = 0;
};
using GlyphImages = std::map<uint64_t, GlyphImage>;

// One index subtable of CBLC: the images of glyphs `first` to `last`.
struct IndexSubtable {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t offset = 0;  // of the subtable, in CBLC
  uint64_t index_format = 0;
  uint64_t image_format = 0;
  uint64_t image_offset = 0;  // in CBDT
};

void AddImage(const IndexSubtable& subtable, uint64_t glyph, uint64_t begin, uint64_t end,
              GlyphImages& images) {
  // Equal offsets mean that the glyph has no image.
  if (glyph < subtable.first || glyph > subtable.last || end <= begin) return;
  images[glyph] = {subtable.image_offset + begin, end - begin, subtable.image_format};
}

// Formats 1 and 3: one offset per glyph and one more, of four or two bytes.
absl::Status ReadOffsetArray(const Table& cblc, const IndexSubtable& subtable,
                             GlyphImages& images) {
  const bool wide = subtable.index_format == 1;
  const uint64_t array = subtable.offset + 8;
  const auto at = [&](uint64_t i) {
    return wide ? cblc.U32(array + 4 * i) : cblc.U16(array + 2 * i);
  };
  ASSIGN_OR_RETURN(uint64_t begin, at(0));
  for (uint64_t i = 0; i <= subtable.last - subtable.first; ++i) {
    ASSIGN_OR_RETURN(const uint64_t end, at(i + 1));
    AddImage(subtable, subtable.first + i, begin, end, images);
    begin = end;
  }
  return absl::OkStatus();
}

// Format 4: pairs of glyph and offset, and one more.
absl::Status ReadPairArray(const Table& cblc, const IndexSubtable& subtable, GlyphImages& images) {
  ASSIGN_OR_RETURN(const uint64_t count, cblc.U32(subtable.offset + 8));
  if (count > subtable.last - subtable.first + 1) {
    return Malformed("CBLC", absl::StrCat(count, " glyphs in a range of fewer"));
  }
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t pair = subtable.offset + 12 + 4 * i;
    ASSIGN_OR_RETURN(const uint64_t glyph, cblc.U16(pair));
    ASSIGN_OR_RETURN(const uint64_t begin, cblc.U16(pair + 2));
    ASSIGN_OR_RETURN(const uint64_t end, cblc.U16(pair + 6));
    AddImage(subtable, glyph, begin, end, images);
  }
  return absl::OkStatus();
}

// Formats 2 and 5: images of one size, of all glyphs of the range or of those listed.
absl::Status ReadConstantSize(const Table& cblc, const IndexSubtable& subtable,
                              GlyphImages& images) {
  ASSIGN_OR_RETURN(const uint64_t size, cblc.U32(subtable.offset + 8));
  uint64_t count = subtable.last - subtable.first + 1;
  if (subtable.index_format == 5) {
    ASSIGN_OR_RETURN(const uint64_t listed, cblc.U32(subtable.offset + 20));
    if (listed > count) {
      return Malformed("CBLC", absl::StrCat(listed, " glyphs in a range of ", count));
    }
    count = listed;
  }
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t glyph = subtable.first + i;
    if (subtable.index_format == 5) {
      ASSIGN_OR_RETURN(glyph, cblc.U16(subtable.offset + 24 + 2 * i));
    }
    AddImage(subtable, glyph, i * size, (i + 1) * size, images);
  }
  return absl::OkStatus();
}

absl::Status ReadSubtable(const Table& cblc, const IndexSubtable& subtable, GlyphImages& images) {
  switch (subtable.index_format) {
    case 1:
    case 3:
      return ReadOffsetArray(cblc, subtable, images);
    case 2:
    case 5:
      return ReadConstantSize(cblc, subtable, images);
    case 4:
      return ReadPairArray(cblc, subtable, images);
    default:
      return Malformed("CBLC",
                       absl::StrCat("unknown index subtable format ", subtable.index_format));
  }
}

// Offset in CBLC of the record of the largest strike (set of bitmaps of one size).
absl::StatusOr<uint64_t> LargestStrike(const Table& cblc) {
  constexpr uint64_t kRecordSize = 48;
  ASSIGN_OR_RETURN(const uint64_t major, cblc.U16(0));
  if (major != 2 && major != 3) {
    return Malformed("CBLC", absl::StrCat("unknown version ", major));
  }
  ASSIGN_OR_RETURN(const uint64_t count, cblc.U32(4));
  if (count == 0) return Malformed("CBLC", "no bitmaps");
  RETURN_IF_ERROR(cblc.Slice(8, count * kRecordSize).status());
  uint64_t best = 8, best_size = 0;
  for (uint64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const uint64_t size, cblc.U8(8 + i * kRecordSize + 45));  // ppemY
    if (size > best_size) {
      best_size = size;
      best = 8 + i * kRecordSize;
    }
  }
  return best;
}

absl::StatusOr<GlyphImages> ReadGlyphImages(const Table& cblc) {
  ASSIGN_OR_RETURN(const uint64_t strike, LargestStrike(cblc));
  ASSIGN_OR_RETURN(const uint64_t array, cblc.U32(strike));
  ASSIGN_OR_RETURN(const uint64_t count, cblc.U32(strike + 8));
  GlyphImages images;
  uint64_t next_glyph = 0;
  for (uint64_t i = 0; i < count; ++i) {
    IndexSubtable subtable;
    const uint64_t entry = array + 8 * i;
    ASSIGN_OR_RETURN(subtable.first, cblc.U16(entry));
    ASSIGN_OR_RETURN(subtable.last, cblc.U16(entry + 2));
    ASSIGN_OR_RETURN(const uint64_t offset, cblc.U32(entry + 4));
    // Ranges ascend and do not overlap: so a few bytes cannot ask for endless work.
    if (subtable.first < next_glyph || subtable.last < subtable.first) {
      return Malformed("CBLC", absl::StrCat("glyph range ", subtable.first, " to ", subtable.last,
                                            " after glyph ", next_glyph));
    }
    next_glyph = subtable.last + 1;
    subtable.offset = array + offset;
    ASSIGN_OR_RETURN(subtable.index_format, cblc.U16(subtable.offset));
    ASSIGN_OR_RETURN(subtable.image_format, cblc.U16(subtable.offset + 2));
    ASSIGN_OR_RETURN(subtable.image_offset, cblc.U32(subtable.offset + 4));
    RETURN_IF_ERROR(ReadSubtable(cblc, subtable, images));
  }
  return images;
}

// The PNG of one glyph, without its metrics.  Empty if it is in another format.
absl::StatusOr<absl::string_view> PngOf(const Table& cbdt, const GlyphImage& image) {
  uint64_t metrics = 0;
  switch (image.format) {
    case 17:  // small metrics
      metrics = 5;
      break;
    case 18:  // big metrics
      metrics = 8;
      break;
    case 19:  // metrics in CBLC
      break;
    default:
      return absl::string_view();
  }
  RETURN_IF_ERROR(cbdt.Slice(image.offset, image.length).status());
  ASSIGN_OR_RETURN(const uint64_t length, cbdt.U32(image.offset + metrics));
  if (metrics + 4 + length > image.length) {
    return Malformed("CBDT", absl::StrCat("a PNG of ", length, " bytes in ", image.length));
  }
  ASSIGN_OR_RETURN(const absl::string_view png, cbdt.Slice(image.offset + metrics + 4, length));
  return absl::StartsWith(png, kPngSignature) ? png : absl::string_view();
}

// Offset in cmap of the subtable that maps all of Unicode (format 12).
absl::StatusOr<uint64_t> FullUnicodeSubtable(const Table& cmap) {
  ASSIGN_OR_RETURN(const uint64_t count, cmap.U16(2));
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t record = 4 + 8 * i;
    ASSIGN_OR_RETURN(const uint64_t platform, cmap.U16(record));
    ASSIGN_OR_RETURN(const uint64_t encoding, cmap.U16(record + 2));
    const bool unicode = (platform == 3 && encoding == 10) || (platform == 0 && encoding >= 4);
    if (!unicode) continue;
    ASSIGN_OR_RETURN(const uint64_t offset, cmap.U32(record + 4));
    ASSIGN_OR_RETURN(const uint64_t format, cmap.U16(offset));
    if (format == 12) return offset;
  }
  return Malformed("cmap", "no subtable of format 12 for Unicode");
}

}  // namespace

absl::StatusOr<std::vector<EmojiBitmap>> ReadEmojiBitmaps(absl::string_view bytes) {
  const Table font("directory", bytes);
  ASSIGN_OR_RETURN(const uint64_t version, font.U32(0));
  if (version != 0x00010000 && version != 0x4F54544F) {  // TrueType, "OTTO"
    return Malformed("directory", "not an OpenType font");
  }
  ASSIGN_OR_RETURN(const Table cmap, FindTable(font, "cmap"));
  ASSIGN_OR_RETURN(const Table cblc, FindTable(font, "CBLC"));
  ASSIGN_OR_RETURN(const Table cbdt, FindTable(font, "CBDT"));
  ASSIGN_OR_RETURN(const GlyphImages images, ReadGlyphImages(cblc));

  ASSIGN_OR_RETURN(const uint64_t subtable, FullUnicodeSubtable(cmap));
  ASSIGN_OR_RETURN(const uint64_t group_count, cmap.U32(subtable + 12));
  std::vector<EmojiBitmap> bitmaps;
  uint64_t next_code_point = 0;
  for (uint64_t i = 0; i < group_count; ++i) {
    const uint64_t group = subtable + 16 + 12 * i;
    ASSIGN_OR_RETURN(const uint64_t first, cmap.U32(group));
    ASSIGN_OR_RETURN(const uint64_t last, cmap.U32(group + 4));
    ASSIGN_OR_RETURN(const uint64_t first_glyph, cmap.U32(group + 8));
    if (first < next_code_point || last < first || last > kLastCodePoint) {
      return Malformed(
          "cmap", absl::StrCat("code points ", first, " to ", last, " after ", next_code_point));
    }
    next_code_point = last + 1;
    // Only the glyphs that have images are looked at, so a wide group costs nothing.
    for (auto image = images.lower_bound(first_glyph);
         image != images.end() && image->first - first_glyph <= last - first; ++image) {
      ASSIGN_OR_RETURN(const absl::string_view png, PngOf(cbdt, image->second));
      if (png.empty()) continue;
      bitmaps.push_back({static_cast<uint32_t>(first + (image->first - first_glyph)), png});
    }
  }
  return bitmaps;
}

}  // namespace sightline
