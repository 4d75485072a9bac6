#include "common/formats/zip_archive.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/common/formats/zip_writer.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

constexpr int64_t kMost = 1 << 20;
constexpr char kContent[] = "some content that matters";

// Where fields lie in the three records that each archive has.
constexpr size_t kLocalFlags = 6;
constexpr size_t kLocalMethod = 8;
constexpr size_t kLocalSizes = 18;
constexpr size_t kLocalName = 30;
constexpr size_t kFlags = 8;
constexpr size_t kMethod = 10;
constexpr size_t kCrc = 16;
constexpr size_t kRawLength = 20;
constexpr size_t kByteCount = 24;
constexpr size_t kNameLength = 28;
constexpr size_t kExtraLength = 30;
constexpr size_t kCommentLength = 32;
constexpr size_t kOffset = 42;
constexpr size_t kEndDisk = 4;
constexpr size_t kEndFirstDisk = 6;
constexpr size_t kEndCountHere = 8;
constexpr size_t kEndCount = 10;
constexpr size_t kEndLength = 12;
constexpr size_t kEndOffset = 16;

// An archive of one member, "a.npy".
std::string One(absl::string_view content, bool deflate, bool zip64 = false) {
  ZipWriter zip(zip64);
  zip.Add("a.npy", content, deflate);
  return zip.Finish();
}

// `archive` with another number in the last record of that beginning.
std::string With(std::string archive, absl::string_view record, size_t field, uint64_t value,
                 int bytes) {
  const size_t at = archive.rfind(std::string(record));
  REQUIRE(at != std::string::npos);
  return archive.replace(at + field, bytes, LittleEndian(value, bytes));
}
std::string InLocal(const std::string& archive, size_t field, uint64_t value, int bytes) {
  return With(archive, "PK\3\4", field, value, bytes);
}
std::string InDirectory(const std::string& archive, size_t field, uint64_t value, int bytes) {
  return With(archive, "PK\1\2", field, value, bytes);
}
std::string InEnd(const std::string& archive, size_t field, uint64_t value, int bytes) {
  return With(archive, "PK\5\6", field, value, bytes);
}

// What the only member has.
absl::StatusOr<std::string> ReadOnly(const std::string& bytes, int64_t max_bytes = kMost) {
  const auto archive = ZipArchive::Parse(bytes);
  if (!archive.ok()) return archive.status();
  REQUIRE(archive->members().size() == 1);
  return archive->members()[0].Read(max_bytes);
}

TEST_CASE("members come back whole, stored or deflated, behind any comment") {
  const std::string sevens(5000, '7');
  const bool zip64 = GENERATE(false, true);
  ZipWriter zip(zip64);
  zip.Add("second", sevens + "end", /*deflate=*/true);
  zip.Add("third", "");
  zip.Add("first", "again");
  zip.Add("nothing", "", /*deflate=*/true);
  for (const std::string& comment :
       {std::string(), "hello PK\x05\x06 there, " + std::string(30, '.')}) {
    const std::string bytes = zip.Finish(comment);
    const auto archive = ZipArchive::Parse(bytes);
    INFO(archive.status());
    REQUIRE(archive.ok());
    REQUIRE(archive->members().size() == 4);
    REQUIRE(archive->members()[0].name == "first");
    REQUIRE(archive->members()[3].name == "third");
    REQUIRE(archive->Find("none") == nullptr);
    REQUIRE(archive->Find("zzz") == nullptr);
    REQUIRE(archive->Find("second")->byte_count == 5003);
    REQUIRE(*archive->Find("second")->Read(kMost) == sevens + "end");
    REQUIRE(archive->Find("third")->Read(kMost)->empty());
    REQUIRE(archive->Find("nothing")->Read(0)->empty());
    REQUIRE(*archive->Find("first")->Read(5) == "again");
  }
}

TEST_CASE("an archive without members is one") {
  const std::string bytes = ZipWriter().Finish();
  const auto archive = ZipArchive::Parse(bytes);
  REQUIRE(archive.ok());
  REQUIRE(archive->members().empty());
  REQUIRE(archive->Find("") == nullptr);
}

TEST_CASE("what is stored is there in place, without a copy; what is deflated is not") {
  const std::string bytes = One(kContent, /*deflate=*/false);
  const auto archive = ZipArchive::Parse(bytes);
  const auto stored = archive->Find("a.npy")->Stored();
  REQUIRE(*stored == kContent);
  REQUIRE(stored->data() == bytes.data() + bytes.find(kContent));
  const std::string other = One(kContent, /*deflate=*/true);
  const absl::Status refused = ZipArchive::Parse(other)->Find("a.npy")->Stored().status();
  REQUIRE(absl::IsFailedPrecondition(refused));
  REQUIRE_THAT(std::string(refused.message()), Catch::Contains("'a.npy'") &&
                                                   Catch::Contains("compressed") &&
                                                   Catch::Contains("zip -0"));
}

TEST_CASE("sizes that a writer of streams leaves open in the local header are not asked") {
  std::string bytes = InLocal(One(kContent, true), kLocalSizes, 0, 8);
  bytes = InLocal(bytes, kLocalFlags, 8, 2);
  REQUIRE(*ReadOnly(InDirectory(bytes, kFlags, 8, 2)) == kContent);
}

TEST_CASE("a bomb is refused by what it claims, and by what it is") {
  const std::string zeros = One(std::string(100000, '\0'), /*deflate=*/true);
  REQUIRE(ReadOnly(zeros, 100000).ok());
  const absl::Status limited = ReadOnly(zeros, 99999).status();
  REQUIRE(absl::IsResourceExhausted(limited));
  REQUIRE_THAT(std::string(limited.message()), Catch::Contains("'a.npy'") &&
                                                   Catch::Contains("100000 bytes") &&
                                                   Catch::Contains("the limit is 99999"));
  const auto claiming = [&](uint64_t count) {
    const absl::Status status =
        ReadOnly(InDirectory(zeros, kByteCount, count, 4), std::numeric_limits<int64_t>::max())
            .status();
    REQUIRE(absl::IsDataLoss(status));
    return std::string(status.message());
  };
  REQUIRE_THAT(claiming(900000), Catch::Contains("claims 900000 bytes"));
  REQUIRE_THAT(claiming(0xFFFFFFFE), Catch::Contains("claims 4294967294 bytes"));
  REQUIRE_THAT(claiming(100001), Catch::Contains("does not inflate"));
  REQUIRE_THAT(claiming(99999), Catch::Contains("does not inflate"));
  REQUIRE_THAT(claiming(0), Catch::Contains("does not inflate"));
}

TEST_CASE("what follows the end of the deflated bytes is damage") {
  const std::string raw = Deflated(kContent);
  const auto with = [&](const std::string& stored) {
    std::string bytes = One(stored, /*deflate=*/false);
    bytes = InLocal(InDirectory(bytes, kMethod, 8, 2), kLocalMethod, 8, 2);
    bytes = InDirectory(bytes, kCrc, Crc32(kContent), 4);
    return ReadOnly(InDirectory(bytes, kByteCount, sizeof(kContent) - 1, 4));
  };
  REQUIRE(*with(raw) == kContent);
  REQUIRE(absl::IsDataLoss(with(raw + "x").status()));
}

TEST_CASE("an archive that lies is refused, and why") {
  const std::string sound = One(kContent, /*deflate=*/false);
  const std::string wide = One(kContent, /*deflate=*/false, /*zip64=*/true);
  REQUIRE(ReadOnly(sound).ok());
  REQUIRE(ReadOnly(wide).ok());
  const size_t record = wide.rfind("PK\6\6");
  const size_t extra = wide.rfind("PK\1\2") + 46 + 5 + 9;  // behind the name and a field
  const auto at = [&](size_t offset, uint64_t value) {
    return std::string(wide).replace(offset, 8, LittleEndian(value, 8));
  };
  const uint64_t huge = std::numeric_limits<uint64_t>::max() - 8;
  const struct {
    std::string bytes;
    const char* said;
  } kLies[] = {
      {InDirectory(sound, kCrc, 7, 4),
       "'a.npy' of the ZIP archive does not match its CRC-32; the file is damaged"},
      {InDirectory(sound, kOffset, 3, 4), "does not begin at 3"},
      {InDirectory(sound, kOffset, 0xFFFFFFF0, 4), "does not begin at 4294967280"},
      {InDirectory(sound, kRawLength, 1000, 4), "of 1000 bytes at 0 reaches past"},
      {InDirectory(sound, kRawLength, 26, 4), "of 26 bytes at 0 reaches past"},
      {InDirectory(sound, kRawLength, 24, 4), "claims 25 bytes, which 24 stored"},
      {InDirectory(sound, kByteCount, 24, 4), "claims 24 bytes, which 25 stored"},
      {InDirectory(sound, kByteCount, 26, 4), "claims 26 bytes, which 25 stored"},
      {InDirectory(sound, kByteCount, 0xFFFFFFFF, 4), "no ZIP64 sizes"},
      {InDirectory(sound, kNameLength, 4, 2), "'a.np' of the ZIP archive has another name"},
      {InDirectory(sound, kNameLength, 600, 2), "cut off"},
      {InDirectory(sound, kExtraLength, 1, 2), "cut off"},
      {InDirectory(sound, kCommentLength, 1, 2), "cut off"},
      {InDirectory(sound, 0, 0, 4), "an entry of its directory is missing"},
      {InLocal(sound, kLocalFlags, 1, 2), "another name, method or encryption"},
      {InLocal(sound, kLocalMethod, 8, 2), "another name, method or encryption"},
      {InLocal(sound, kLocalName, 'b', 1), "another name, method or encryption"},
      {InLocal(sound, 26, 4, 2), "another name, method or encryption"},
      {InLocal(sound, 28, 0xFFFF, 2), "reaches past"},
      {InEnd(sound, kEndCountHere, 2, 2), "counts 2 and 1 members"},
      {InEnd(InEnd(sound, kEndCountHere, 0, 2), kEndCount, 0, 2), "more than it counts"},
      {InEnd(InEnd(sound, kEndCountHere, 2, 2), kEndCount, 2, 2), "is missing"},
      {InEnd(sound, kEndLength, 0xFFFFFFFE, 4), "directory of 4294967294 bytes"},
      {InEnd(sound, kEndOffset, 0xFFFFFFFE, 4), "at 4294967294 does not fit"},
      {InEnd(sound, kEndOffset, 0xFFFFFFFF, 4), "no ZIP64 record"},
      {at(record - 4, 0), "no ZIP64 record"},
      {at(record + 48 + 16, huge), "no ZIP64 record"},  // where the record itself begins
      {With(at(record + 48 + 16, record + 72), "PK\6\7", 16, 0x06064B50, 4), "no ZIP64 record"},
      {at(record + 32, huge), "counts 1 and"},
      {With(at(record + 32, 1 << 21), "PK\6\6", 24, 1 << 21, 8), "at most 1048576"},
      {at(record + 40, huge), "does not fit"},
      {at(record + 48, huge), "does not fit"},
      {at(extra + 4, huge), "claims 18446744073709551607 bytes"},
      {at(extra + 12, huge), "reaches past"},
      {at(extra + 20, huge), "does not begin at"},
      {With(wide, LittleEndian(24 << 16 | 1, 4), 2, 16, 2), "no ZIP64 sizes"},
      {With(wide, LittleEndian(24 << 16 | 1, 4), 2, 25, 2), "no ZIP64 sizes"},
  };
  for (const auto& lie : kLies) {
    INFO(lie.said);
    const absl::Status status = ReadOnly(lie.bytes).status();
    INFO(status);
    REQUIRE(absl::IsDataLoss(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(lie.said));
  }
  ZipWriter twice;
  twice.Add("a", "1");
  twice.Add("b", "2");
  twice.Add("a", "3");
  const absl::Status status = ZipArchive::Parse(twice.Finish()).status();
  REQUIRE(absl::IsDataLoss(status));
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("'a'") && Catch::Contains("twice"));
}

TEST_CASE("kinds of archives that are not read are told apart, with what to do") {
  const std::string sound = One(kContent, /*deflate=*/true);
  const std::string wide = One(kContent, /*deflate=*/true, /*zip64=*/true);
  const struct {
    std::string bytes;
    const char* said;
  } kKinds[] = {
      {InDirectory(sound, kFlags, 1, 2), "'a.npy' of the ZIP archive is encrypted; pack"},
      {InDirectory(sound, kMethod, 12, 2), "compressed by method 12; pack"},
      {InEnd(sound, kEndDisk, 1, 2), "join the parts"},
      {InEnd(sound, kEndFirstDisk, 1, 2), "join the parts"},
      {With(wide, "PK\6\6", 16, 1, 4), "join the parts"},
      {With(wide, "PK\6\6", 20, 1, 4), "join the parts"},
  };
  for (const auto& kind : kKinds) {
    const absl::Status status = ReadOnly(kind.bytes).status();
    INFO(status);
    REQUIRE(absl::IsFailedPrecondition(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(kind.said));
  }
}

TEST_CASE("a long name, of any bytes, is told in a short and printable way") {
  ZipWriter zip;
  zip.Add(absl::StrCat("\n\xff", std::string(1000, 'n')), "content");
  const absl::Status status = ReadOnly(zip.Finish(), 1).status();
  REQUIRE_THAT(std::string(status.message()), Catch::Contains("'\\n\\xffnnn"));
  REQUIRE(status.message().size() < 300);
}

TEST_CASE("an archive cut anywhere is refused, and no flipped bit gives other content") {
  const bool deflate = GENERATE(false, true);
  const bool zip64 = GENERATE(false, true);
  const std::string bytes = One(kContent, deflate, zip64);
  for (size_t length = 0; length < bytes.size(); ++length) {
    const std::string cut = bytes.substr(0, length);
    INFO(length);
    REQUIRE(absl::IsDataLoss(ZipArchive::Parse(cut).status()));
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const auto content = ReadOnly(flipped);
    INFO(bit);
    if (content.ok()) REQUIRE(*content == kContent);
  }
}

}  // namespace
}  // namespace sightline
