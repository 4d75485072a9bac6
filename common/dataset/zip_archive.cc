#include "common/dataset/zip_archive.h"

#include <zlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/little_endian.h"
#include "common/dataset/corpus.h"

namespace sightline {
namespace {

constexpr absl::string_view kLocalMagic("PK\x03\x04", 4);
constexpr absl::string_view kDirectoryMagic("PK\x01\x02", 4);
constexpr absl::string_view kEndMagic("PK\x05\x06", 4);
constexpr size_t kLocalLength = 30;
constexpr size_t kDirectoryLength = 46;
constexpr size_t kEndLength = 22;
constexpr size_t kMaxCommentLength = 65535;
constexpr uint32_t kInZip64 = 0xFFFFFFFF;
constexpr int kStored = 0;
constexpr int kDeflated = 8;
// What deflate makes of its best input, rounded up.
constexpr int64_t kMostInflation = 1040;

uint16_t Number16(absl::string_view bytes, size_t at) {
  return LoadLittleEndian<uint16_t>(bytes.data() + at);
}
uint32_t Number32(absl::string_view bytes, size_t at) {
  return LoadLittleEndian<uint32_t>(bytes.data() + at);
}

absl::Status Malformed(absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat("not a whole ZIP archive: ", problem));
}

// Where the record at the archive's end begins: behind it is only its comment.
absl::StatusOr<size_t> FindEnd(absl::string_view bytes) {
  const size_t most = std::min(bytes.size(), kEndLength + kMaxCommentLength);
  for (size_t back = kEndLength; back <= most; ++back) {
    const size_t at = bytes.size() - back;
    if (bytes.substr(at, 4) == kEndMagic && Number16(bytes, at + 20) == back - kEndLength) {
      return at;
    }
  }
  return Malformed("it has no end record; the file is truncated or of another kind");
}

// Takes an entry of the directory off the front of `rest`.
absl::StatusOr<ZipEntry> TakeEntry(absl::string_view& rest) {
  if (rest.size() < kDirectoryLength || rest.substr(0, 4) != kDirectoryMagic) {
    return Malformed("its directory ends too early");
  }
  ZipEntry entry;
  entry.encrypted = (Number16(rest, 8) & 1) != 0;
  entry.method = Number16(rest, 10);
  entry.crc32 = Number32(rest, 16);
  entry.stored_bytes = Number32(rest, 20);
  entry.byte_count = Number32(rest, 24);
  entry.header_offset = Number32(rest, 42);
  const size_t name_length = Number16(rest, 28);
  const size_t length = kDirectoryLength + name_length + Number16(rest, 30) + Number16(rest, 32);
  if (length > rest.size()) return Malformed("its directory ends too early");
  entry.name = std::string(rest.substr(kDirectoryLength, name_length));
  rest.remove_prefix(length);
  return entry;
}

absl::Status EntryProblem(const ZipEntry& entry, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat("entry ", Printable(entry.name), " ", problem));
}

// Exactly entry.byte_count bytes, or an error.
absl::StatusOr<std::string> Inflate(const ZipEntry& entry, absl::string_view stored) {
  if (entry.byte_count > entry.stored_bytes * kMostInflation) {
    return EntryProblem(entry, absl::StrCat("claims ", entry.byte_count, " bytes, more than ",
                                            entry.stored_bytes, " deflated ones can be"));
  }
  std::string content(static_cast<size_t>(entry.byte_count), '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return absl::ResourceExhaustedError("no memory to inflate");
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
  stream.avail_in = static_cast<uInt>(stored.size());
  stream.next_out = reinterpret_cast<Bytef*>(&content[0]);
  stream.avail_out = static_cast<uInt>(content.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (whole) return content;
  return EntryProblem(entry, absl::StrCat("does not inflate to the ", entry.byte_count,
                                          " bytes that it claims; the file is damaged"));
}

}  // namespace

absl::StatusOr<ZipArchive> ZipArchive::Parse(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const size_t end, FindEnd(bytes));
  const size_t count = Number16(bytes, end + 10);
  const size_t length = Number32(bytes, end + 12);
  const size_t offset = Number32(bytes, end + 16);
  if (offset > end || length > end - offset) {
    return Malformed(absl::StrCat("its directory of ", length, " bytes at ", offset,
                                  " does not fit ", bytes.size(), " bytes"));
  }
  ZipArchive archive;
  archive.bytes_ = bytes;
  absl::string_view rest = bytes.substr(offset, length);
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(ZipEntry entry, TakeEntry(rest));
    archive.entries_.push_back(std::move(entry));
  }
  return archive;
}

const ZipEntry* ZipArchive::Find(absl::string_view name) const {
  for (const ZipEntry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

absl::StatusOr<absl::string_view> ZipArchive::StoredBytes(const ZipEntry& entry) const {
  const size_t offset = static_cast<size_t>(entry.header_offset);
  if (offset > bytes_.size() || bytes_.size() - offset < kLocalLength ||
      bytes_.substr(offset, 4) != kLocalMagic) {
    return EntryProblem(entry, "does not lie where the directory says");
  }
  const size_t begin =
      offset + kLocalLength + Number16(bytes_, offset + 26) + Number16(bytes_, offset + 28);
  if (begin > bytes_.size() || static_cast<size_t>(entry.stored_bytes) > bytes_.size() - begin) {
    return EntryProblem(entry,
                        absl::StrCat("of ", entry.stored_bytes, " bytes reaches past the end"));
  }
  return bytes_.substr(begin, static_cast<size_t>(entry.stored_bytes));
}

absl::StatusOr<std::string> ZipArchive::Read(const ZipEntry& entry, int64_t max_bytes) const {
  if (entry.encrypted) return EntryProblem(entry, "is encrypted");
  if (entry.byte_count == kInZip64 || entry.stored_bytes == kInZip64) {
    return EntryProblem(entry, "is of ZIP64, of four gigabytes or more, which is not read");
  }
  if (entry.byte_count > max_bytes) {
    return EntryProblem(entry,
                        absl::StrCat("has ", entry.byte_count, " bytes; the limit is ", max_bytes));
  }
  ASSIGN_OR_RETURN(const absl::string_view stored, StoredBytes(entry));
  std::string content;
  if (entry.method == kStored) {
    if (entry.byte_count != entry.stored_bytes) {
      return EntryProblem(entry, absl::StrCat("is stored in ", entry.stored_bytes,
                                              " bytes and claims ", entry.byte_count));
    }
    content = std::string(stored);
  } else if (entry.method == kDeflated) {
    ASSIGN_OR_RETURN(content, Inflate(entry, stored));
  } else {
    return EntryProblem(entry, absl::StrCat("is compressed by method ", entry.method,
                                            "; 0 (stored) and 8 (deflated) are read"));
  }
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (crc != entry.crc32) return EntryProblem(entry, "is damaged: its CRC-32 does not match");
  return content;
}

}  // namespace sightline
