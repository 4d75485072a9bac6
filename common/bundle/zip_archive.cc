#include "common/bundle/zip_archive.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/status_macros.h"
#include "common/bundle/little_endian.h"

namespace sightline {
namespace {

constexpr absl::string_view kLocalHeader("PK\3\4", 4);
constexpr absl::string_view kCentralEntry("PK\1\2", 4);
constexpr absl::string_view kEnd("PK\5\6", 4);
constexpr absl::string_view kEnd64("PK\6\6", 4);
constexpr absl::string_view kEnd64Locator("PK\6\7", 4);
constexpr size_t kLocalHeaderLength = 30;
constexpr size_t kCentralEntryLength = 46;
constexpr size_t kEndLength = 22;
constexpr size_t kEnd64Length = 56;
constexpr size_t kEnd64LocatorLength = 20;
constexpr size_t kMaxCommentLength = 65535;
constexpr uint64_t kMaxMembers = 1 << 20;
constexpr uint16_t kZip64Field = 1;
constexpr uint32_t kSaturated = 0xFFFFFFFF;

// A number inside of `bytes`, whose length the caller has checked.
template <typename T>
T At(absl::string_view bytes, size_t offset) {
  return LoadLittleEndian<T>(bytes.data() + offset);
}

std::string Shown(absl::string_view text) {
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, 100)), text.size() > 100 ? "..." : "",
                      "'");
}

absl::Status Broken(absl::string_view why) {
  return absl::DataLossError(absl::StrCat("broken zip archive: ", why));
}

// Where the central directory lies.
struct Directory {
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t count = 0;
};

// The end record may be followed by a comment of which only the length is known.
absl::optional<size_t> FindEnd(absl::string_view bytes) {
  if (bytes.size() < kEndLength) return absl::nullopt;
  const size_t last = bytes.size() - kEndLength;
  const size_t first = last - std::min(last, kMaxCommentLength);
  for (size_t at = last + 1; at-- > first;) {
    if (!absl::StartsWith(bytes.substr(at), kEnd)) continue;
    if (at + kEndLength + At<uint16_t>(bytes, at + 20) == bytes.size()) return at;
  }
  return absl::nullopt;
}

absl::StatusOr<Directory> ReadEnd64(absl::string_view bytes, size_t end) {
  if (end < kEnd64LocatorLength) return Broken("no zip64 record where one is needed");
  const absl::string_view locator = bytes.substr(end - kEnd64LocatorLength);
  if (!absl::StartsWith(locator, kEnd64Locator)) {
    return Broken("no zip64 record where one is needed");
  }
  const auto at = At<uint64_t>(locator, 8);
  if (at > end || end - at < kEnd64Length || !absl::StartsWith(bytes.substr(at), kEnd64)) {
    return Broken(absl::StrCat("no zip64 record at ", at));
  }
  const absl::string_view record = bytes.substr(at);
  Directory directory;
  directory.count = At<uint64_t>(record, 32);
  directory.length = At<uint64_t>(record, 40);
  directory.offset = At<uint64_t>(record, 48);
  return directory;
}

absl::StatusOr<Directory> FindDirectory(absl::string_view bytes) {
  const absl::optional<size_t> end = FindEnd(bytes);
  if (!end.has_value()) return Broken("it has no end; the file may be truncated");
  Directory directory;
  directory.count = At<uint16_t>(bytes, *end + 10);
  directory.length = At<uint32_t>(bytes, *end + 12);
  directory.offset = At<uint32_t>(bytes, *end + 16);
  if (directory.count == 0xFFFF || directory.length == kSaturated ||
      directory.offset == kSaturated) {
    ASSIGN_OR_RETURN(directory, ReadEnd64(bytes, *end));
  }
  if (directory.offset > *end || directory.length > *end - directory.offset) {
    return Broken(absl::StrCat("a directory of ", directory.length, " bytes at ", directory.offset,
                               " in a file of ", bytes.size()));
  }
  if (directory.count > kMaxMembers || directory.count > directory.length / kCentralEntryLength) {
    return Broken(
        absl::StrCat(directory.count, " members in a directory of ", directory.length, " bytes"));
  }
  return directory;
}

// What the directory says of one member.
struct Entry {
  std::string name;
  uint64_t offset = 0;  // of the local header
  uint64_t length = 0;
};

// Takes the numbers that did not fit 32 bits from the extra fields.
absl::Status ReadZip64(absl::string_view extra, uint64_t* stored_length, Entry* entry) {
  while (extra.size() >= 4) {
    const auto id = At<uint16_t>(extra, 0);
    const auto length = At<uint16_t>(extra, 2);
    extra.remove_prefix(4);
    if (length > extra.size()) break;
    if (id != kZip64Field) {
      extra.remove_prefix(length);
      continue;
    }
    absl::string_view field = extra.substr(0, length);
    for (uint64_t* number : {&entry->length, stored_length, &entry->offset}) {
      if (*number != kSaturated) continue;
      if (field.size() < 8) return Broken(absl::StrCat("lengths of ", Shown(entry->name)));
      *number = At<uint64_t>(field, 0);
      field.remove_prefix(8);
    }
    return absl::OkStatus();
  }
  return Broken(absl::StrCat("no zip64 lengths of ", Shown(entry->name)));
}

// Reads the entry that `*rest` begins with and takes it off.
absl::StatusOr<Entry> ReadEntry(absl::string_view* rest) {
  if (rest->size() < kCentralEntryLength || !absl::StartsWith(*rest, kCentralEntry)) {
    return Broken("an entry of the directory is missing");
  }
  const auto flags = At<uint16_t>(*rest, 8);
  const auto method = At<uint16_t>(*rest, 10);
  uint64_t stored_length = At<uint32_t>(*rest, 20);
  const size_t name_length = At<uint16_t>(*rest, 28);
  const size_t extra_length = At<uint16_t>(*rest, 30);
  const size_t comment_length = At<uint16_t>(*rest, 32);
  const size_t total = kCentralEntryLength + name_length + extra_length + comment_length;
  if (total > rest->size()) return Broken("an entry of the directory is cut off");
  Entry entry;
  entry.name = std::string(rest->substr(kCentralEntryLength, name_length));
  entry.length = At<uint32_t>(*rest, 24);
  entry.offset = At<uint32_t>(*rest, 42);
  if (entry.length == kSaturated || stored_length == kSaturated || entry.offset == kSaturated) {
    RETURN_IF_ERROR(ReadZip64(rest->substr(kCentralEntryLength + name_length, extra_length),
                              &stored_length, &entry));
  }
  rest->remove_prefix(total);
  if ((flags & 1) != 0 || method != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "member ", Shown(entry.name), " of the zip archive is ",
        method != 0 ? "compressed" : "encrypted", "; unpack the archive and name the file inside"));
  }
  if (stored_length != entry.length) {
    return Broken(absl::StrCat(Shown(entry.name), " has two lengths"));
  }
  return entry;
}

absl::StatusOr<absl::string_view> ContentOf(absl::string_view bytes, const Entry& entry) {
  const auto refuse = [&](absl::string_view why) {
    return Broken(absl::StrCat("member ", Shown(entry.name), " of ", entry.length, " bytes at ",
                               entry.offset, ": ", why));
  };
  if (entry.offset > bytes.size() || bytes.size() - entry.offset < kLocalHeaderLength) {
    return refuse("outside of the file");
  }
  absl::string_view rest = bytes.substr(entry.offset);
  if (!absl::StartsWith(rest, kLocalHeader)) return refuse("no member begins there");
  const size_t name_length = At<uint16_t>(rest, 26);
  const size_t extra_length = At<uint16_t>(rest, 28);
  rest.remove_prefix(kLocalHeaderLength);
  if (rest.size() < name_length + extra_length) return refuse("its header is cut off");
  if (rest.substr(0, name_length) != entry.name) return refuse("another name begins there");
  rest.remove_prefix(name_length + extra_length);
  if (entry.length > rest.size()) return refuse("it ends beyond the file");
  return rest.substr(0, entry.length);
}

}  // namespace

bool LooksLikeZip(absl::string_view bytes) {
  return absl::StartsWith(bytes, kLocalHeader);
}

absl::StatusOr<std::map<std::string, absl::string_view>> ReadStoredZip(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const Directory directory, FindDirectory(bytes));
  absl::string_view rest = bytes.substr(directory.offset, directory.length);
  std::map<std::string, absl::string_view> members;
  for (uint64_t i = 0; i < directory.count; ++i) {
    ASSIGN_OR_RETURN(const Entry entry, ReadEntry(&rest));
    ASSIGN_OR_RETURN(const absl::string_view content, ContentOf(bytes, entry));
    if (!members.emplace(entry.name, content).second) {
      return Broken(absl::StrCat("member ", Shown(entry.name), " is there twice"));
    }
  }
  return members;
}

}  // namespace sightline
