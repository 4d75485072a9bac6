#include "common/formats/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/error_details.h"
#include "common/base/little_endian.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr absl::string_view kLocalHeader("PK\3\4", 4);
constexpr absl::string_view kDirectoryEntry("PK\1\2", 4);
constexpr absl::string_view kEnd("PK\5\6", 4);
constexpr absl::string_view kEnd64("PK\6\6", 4);
constexpr absl::string_view kEnd64Locator("PK\6\7", 4);
constexpr size_t kLocalHeaderLength = 30;
constexpr size_t kDirectoryEntryLength = 46;
constexpr size_t kEndLength = 22;
constexpr size_t kEnd64Length = 56;
constexpr size_t kEnd64LocatorLength = 20;
constexpr size_t kMaxCommentLength = 65535;
// Far above what a model has of tensors.
constexpr uint64_t kMaxMembers = 1 << 20;
constexpr uint16_t kZip64Field = 1;
// A number that stands in a record of ZIP64 instead.
constexpr uint32_t kElsewhere = 0xFFFFFFFF;
constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
// What deflate makes of its best input, rounded up.
constexpr uint64_t kMostInflation = 1040;

// A number inside of `bytes`, whose length the caller has checked.
template <typename T>
T At(absl::string_view bytes, size_t offset) {
  return LoadLittleEndian<T>(bytes.data() + offset);
}

absl::Status Broken(absl::string_view why) {
  return absl::DataLossError(absl::StrCat("not a whole ZIP archive: ", why));
}

// "member 'NAME' of the ZIP archive WHY"
std::string OfMember(absl::string_view name, absl::string_view why) {
  return absl::StrCat("member '", absl::CHexEscape(name.substr(0, 100)),
                      name.size() > 100 ? "..." : "", "' of the ZIP archive ", why);
}

absl::Status BrokenMember(absl::string_view name, absl::string_view why) {
  return absl::DataLossError(
      OfMember(name, absl::StrCat(why, "; the file is damaged, write or fetch it again")));
}

// What an end record says of the central directory.
struct Directory {
  uint64_t last_disk = 0;
  uint64_t first_disk = 0;
  uint64_t count_on_last_disk = 0;
  uint64_t count = 0;
  uint64_t length = 0;
  uint64_t offset = 0;
};

// The end record may be followed by a comment of which only the length is known.
absl::optional<size_t> FindEnd(absl::string_view bytes) {
  const size_t most = std::min(bytes.size(), kEndLength + kMaxCommentLength);
  for (size_t back = kEndLength; back <= most; ++back) {
    const absl::string_view end = bytes.substr(bytes.size() - back);
    if (absl::StartsWith(end, kEnd) && At<uint16_t>(end, 20) == back - kEndLength) {
      return bytes.size() - back;
    }
  }
  return absl::nullopt;
}

// `before` is what lies before the end record.
absl::StatusOr<Directory> ReadEnd64(absl::string_view before) {
  if (before.size() < kEnd64LocatorLength) return Broken("it has no ZIP64 record and needs one");
  const absl::string_view locator = before.substr(before.size() - kEnd64LocatorLength);
  const auto at = At<uint64_t>(locator, 8);
  if (!absl::StartsWith(locator, kEnd64Locator) || at > before.size() ||
      before.size() - at < kEnd64Length || !absl::StartsWith(before.substr(at), kEnd64)) {
    return Broken("it has no ZIP64 record and needs one");
  }
  const absl::string_view record = before.substr(at);
  return Directory{At<uint32_t>(record, 16), At<uint32_t>(record, 20), At<uint64_t>(record, 24),
                   At<uint64_t>(record, 32), At<uint64_t>(record, 40), At<uint64_t>(record, 48)};
}

absl::StatusOr<Directory> FindDirectory(absl::string_view bytes) {
  const absl::optional<size_t> at = FindEnd(bytes);
  if (!at.has_value()) {
    return Broken("it has no end record; the file is truncated or of another kind");
  }
  const absl::string_view end = bytes.substr(*at);
  Directory directory{At<uint16_t>(end, 4),  At<uint16_t>(end, 6),  At<uint16_t>(end, 8),
                      At<uint16_t>(end, 10), At<uint32_t>(end, 12), At<uint32_t>(end, 16)};
  if (directory.count == 0xFFFF || directory.length == kElsewhere ||
      directory.offset == kElsewhere) {
    ASSIGN_OR_RETURN(directory, ReadEnd64(bytes.substr(0, *at)));
  }
  if (directory.last_disk != 0 || directory.first_disk != 0) {
    return absl::FailedPreconditionError(
        "the file is one part of a divided ZIP archive; join the parts first (zip -s 0)");
  }
  if (directory.offset > *at || directory.length > *at - directory.offset) {
    return Broken(absl::StrCat("its directory of ", directory.length, " bytes at ",
                               directory.offset, " does not fit ", bytes.size(), " bytes"));
  }
  if (directory.count != directory.count_on_last_disk || directory.count > kMaxMembers) {
    return Broken(absl::StrCat("its end record counts ", directory.count_on_last_disk, " and ",
                               directory.count, " members; at most ", kMaxMembers, " are read"));
  }
  return directory;
}

// What the directory says of a member, beside its name and checksum.
struct Place {
  uint16_t flags = 0;
  uint16_t method = 0;
  uint64_t byte_count = 0;  // of the content
  uint64_t raw_length = 0;
  uint64_t offset = 0;  // of the local header
};

// Takes the numbers that did not fit 32 bits from the extra fields: those that are
// missing, in this order.  False if they are not there.
bool ReadZip64(absl::string_view extra, Place& place) {
  while (extra.size() >= 4) {
    const auto id = At<uint16_t>(extra, 0);
    const size_t length = At<uint16_t>(extra, 2);
    absl::string_view field = extra.substr(4, length);
    if (field.size() < length) return false;
    extra.remove_prefix(4 + length);
    if (id != kZip64Field) continue;
    for (uint64_t* number : {&place.byte_count, &place.raw_length, &place.offset}) {
      if (*number != kElsewhere) continue;
      if (field.size() < 8) return false;
      *number = At<uint64_t>(field, 0);
      field.remove_prefix(8);
    }
    return true;
  }
  return false;
}

absl::Status CheckKind(absl::string_view name, const Place& place) {
  if ((place.flags & kEncrypted) != 0) {
    return absl::FailedPreconditionError(
        OfMember(name, "is encrypted; pack the archive again without a password"));
  }
  if (place.method != kStored && place.method != kDeflated) {
    return absl::FailedPreconditionError(
        OfMember(name, absl::StrCat("is compressed by method ", place.method,
                                    "; pack the archive again with 0 (stored) or 8 (deflated)")));
  }
  return absl::OkStatus();
}

// The member's bytes, of `bytes` that lie before the directory.
absl::StatusOr<absl::string_view> FindRaw(absl::string_view bytes, absl::string_view name,
                                          const Place& place) {
  absl::string_view rest = bytes.substr(std::min<uint64_t>(place.offset, bytes.size()));
  if (rest.size() < kLocalHeaderLength || !absl::StartsWith(rest, kLocalHeader)) {
    return BrokenMember(name, absl::StrCat("does not begin at ", place.offset));
  }
  const auto flags = At<uint16_t>(rest, 6);
  const auto method = At<uint16_t>(rest, 8);
  const size_t name_length = At<uint16_t>(rest, 26);
  const size_t skipped = kLocalHeaderLength + name_length + At<uint16_t>(rest, 28);
  if ((flags & kEncrypted) != (place.flags & kEncrypted) || method != place.method ||
      rest.substr(kLocalHeaderLength, name_length) != name) {
    return BrokenMember(name, "has another name, method or encryption in its local header");
  }
  if (rest.size() < skipped || rest.size() - skipped < place.raw_length) {
    return BrokenMember(name, absl::StrCat("of ", place.raw_length, " bytes at ", place.offset,
                                           " reaches past the end of the members"));
  }
  return rest.substr(skipped, place.raw_length);
}

// So that nothing is made of a member that it cannot have.
absl::Status CheckByteCount(const ZipMember& member, uint64_t claimed) {
  const uint64_t raw = member.raw.size();
  if (member.deflated ? claimed <= raw * kMostInflation : claimed == raw) return absl::OkStatus();
  return BrokenMember(member.name,
                      absl::StrCat("claims ", claimed, " bytes, which ", raw,
                                   member.deflated ? " deflated" : " stored", " ones cannot be"));
}

// Takes the entry that the directory's `rest` begins with off it.  `bytes` lie before the
// directory.
absl::StatusOr<ZipMember> TakeMember(absl::string_view bytes, absl::string_view& rest) {
  if (rest.size() < kDirectoryEntryLength || !absl::StartsWith(rest, kDirectoryEntry)) {
    return Broken("an entry of its directory is missing");
  }
  const absl::string_view entry = rest;
  const size_t name_length = At<uint16_t>(entry, 28);
  const size_t extra_length = At<uint16_t>(entry, 30);
  const size_t length =
      kDirectoryEntryLength + name_length + extra_length + At<uint16_t>(entry, 32);
  if (length > rest.size()) return Broken("an entry of its directory is cut off");
  rest.remove_prefix(length);

  ZipMember member;
  member.name = entry.substr(kDirectoryEntryLength, name_length);
  member.crc32 = At<uint32_t>(entry, 16);
  Place place{At<uint16_t>(entry, 8), At<uint16_t>(entry, 10), At<uint32_t>(entry, 24),
              At<uint32_t>(entry, 20), At<uint32_t>(entry, 42)};
  const bool wide = place.byte_count == kElsewhere || place.raw_length == kElsewhere ||
                    place.offset == kElsewhere;
  if (wide && !ReadZip64(entry.substr(kDirectoryEntryLength + name_length, extra_length), place)) {
    return BrokenMember(member.name, "has no ZIP64 sizes and needs them");
  }
  RETURN_IF_ERROR(CheckKind(member.name, place));
  ASSIGN_OR_RETURN(member.raw, FindRaw(bytes, member.name, place));
  member.deflated = place.method == kDeflated;
  RETURN_IF_ERROR(CheckByteCount(member, place.byte_count));
  member.byte_count = static_cast<int64_t>(place.byte_count);
  return member;
}

absl::Status CheckChecksum(const ZipMember& member, absl::string_view content) {
  const auto* const bytes = reinterpret_cast<const Bytef*>(content.data());
  if (crc32_z(0, bytes, content.size()) == member.crc32) return absl::OkStatus();
  return BrokenMember(member.name, "does not match its CRC-32");
}

// What zlib is told of `begin` to `end`: its counts have 32 bits.
uInt NextPiece(const Bytef* begin, const Bytef* end) {
  return static_cast<uInt>(std::min<ptrdiff_t>(end - begin, std::numeric_limits<uInt>::max()));
}

// Exactly member.byte_count bytes of all of member.raw, or an error.
absl::StatusOr<std::string> Inflate(const ZipMember& member) {
  std::string content(static_cast<size_t>(member.byte_count), '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return absl::ResourceExhaustedError("no memory to inflate");
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(member.raw.data()));
  stream.next_out = reinterpret_cast<Bytef*>(&content[0]);
  const Bytef* const end_in = stream.next_in + member.raw.size();
  const Bytef* const end_out = stream.next_out + content.size();
  int result = Z_OK;
  while (result == Z_OK) {
    stream.avail_in = NextPiece(stream.next_in, end_in);
    stream.avail_out = NextPiece(stream.next_out, end_out);
    result = inflate(&stream, Z_NO_FLUSH);
  }
  const bool whole =
      result == Z_STREAM_END && stream.next_in == end_in && stream.next_out == end_out;
  inflateEnd(&stream);
  if (whole) return content;
  return BrokenMember(member.name, absl::StrCat("does not inflate to the ", member.byte_count,
                                                " bytes that it claims"));
}

}  // namespace

bool LooksLikeZip(absl::string_view bytes) {
  return absl::StartsWith(bytes, kLocalHeader);
}

absl::StatusOr<absl::string_view> ZipMember::Stored() const {
  if (!deflated) return raw;
  return absl::FailedPreconditionError(OfMember(
      name, "is compressed, and is used in place; pack the archive again without that (zip -0)"));
}

absl::Status ZipMember::CheckStored() const {
  return CheckChecksum(*this, raw);
}

absl::StatusOr<std::string> ZipMember::Read(int64_t max_bytes) const {
  if (byte_count > max_bytes) {
    return WithRetryDelay(
        absl::ResourceExhaustedError(
            OfMember(name, absl::StrCat("has ", byte_count, " bytes; the limit is ", max_bytes))),
        absl::InfiniteDuration());
  }
  std::string content;
  if (deflated) {
    ASSIGN_OR_RETURN(content, Inflate(*this));
  } else {
    content = std::string(raw);
  }
  RETURN_IF_ERROR(CheckChecksum(*this, content));
  return content;
}

absl::StatusOr<ZipArchive> ZipArchive::Parse(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const Directory directory, FindDirectory(bytes));
  absl::string_view rest = bytes.substr(directory.offset, directory.length);
  ZipArchive archive;
  std::vector<ZipMember>& members = archive.members_;
  for (uint64_t i = 0; i < directory.count; ++i) {
    ASSIGN_OR_RETURN(ZipMember member, TakeMember(bytes.substr(0, directory.offset), rest));
    members.push_back(member);
  }
  if (!rest.empty()) return Broken("its directory has more than it counts");
  std::sort(members.begin(), members.end(),
            [](const ZipMember& a, const ZipMember& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(members.begin(), members.end(),
                         [](const ZipMember& a, const ZipMember& b) { return a.name == b.name; });
  if (twice != members.end()) return BrokenMember(twice->name, "is there twice");
  return archive;
}

const ZipMember* ZipArchive::Find(absl::string_view name) const {
  const auto found = std::lower_bound(
      members_.begin(), members_.end(), name,
      [](const ZipMember& member, absl::string_view wanted) { return member.name < wanted; });
  return found != members_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace sightline
