#include "common/dataset/zip_archive.h"

#include "catch2/catch.hpp"
#include "tests/common/dataset/npz_writer.h"

namespace sightline {
namespace {

constexpr int64_t kMost = 1 << 20;

absl::StatusOr<std::string> ReadOnly(const std::string& bytes, int64_t max_bytes = kMost) {
  const auto archive = ZipArchive::Parse(bytes);
  if (!archive.ok()) return archive.status();
  REQUIRE(archive->entries().size() == 1);
  return archive->Read(archive->entries()[0], max_bytes);
}

std::string One(const std::string& content, bool deflate, const ZipLies& lies = {}) {
  ZipWriter zip;
  zip.Add("a.npy", content, deflate, lies);
  return zip.Finish();
}

TEST_CASE("entries come back whole, stored or deflated, behind any comment") {
  ZipWriter zip;
  zip.Add("first", std::string(5000, 'x') + "end", /*deflate=*/true);
  zip.Add("second", "", /*deflate=*/false);
  zip.Add("first", "again", /*deflate=*/false);
  for (const std::string& comment : {std::string(), std::string("hello PK\x05\x06 there")}) {
    const std::string bytes = zip.Finish(comment);
    const auto archive = ZipArchive::Parse(bytes);
    REQUIRE(archive.ok());
    REQUIRE(archive->entries().size() == 3);
    REQUIRE(archive->Find("none") == nullptr);
    REQUIRE(*archive->Read(*archive->Find("first"), kMost) == std::string(5000, 'x') + "end");
    REQUIRE(archive->Read(*archive->Find("second"), kMost)->empty());
    REQUIRE(*archive->Read(archive->entries()[2], kMost) == "again");
  }
}

TEST_CASE("a bomb is refused by what it claims, and by what it is") {
  const std::string zeros(100000, '\0');
  REQUIRE(ReadOnly(One(zeros, true)).ok());
  REQUIRE_THAT(std::string(ReadOnly(One(zeros, true), 99999).status().message()),
               Catch::Contains("the limit is 99999"));
  ZipLies more;
  more.byte_count = 900000;  // of about a hundred stored bytes
  REQUIRE_THAT(std::string(ReadOnly(One(zeros, true, more)).status().message()),
               Catch::Contains("more than"));
  ZipLies fewer;
  fewer.byte_count = 99999;
  REQUIRE_THAT(std::string(ReadOnly(One(zeros, true, fewer)).status().message()),
               Catch::Contains("does not inflate"));
}

TEST_CASE("an entry that lies is refused") {
  struct Lie {
    ZipLies lies;
    const char* said;
  };
  std::vector<Lie> kinds(6);
  kinds[0].lies.method = 12;
  kinds[0].said = "method 12";
  kinds[1].lies.flags = 1;
  kinds[1].said = "encrypted";
  kinds[2].lies.crc32 = 7;
  kinds[2].said = "CRC-32";
  kinds[3].lies.header_offset = 3;
  kinds[3].said = "does not lie";
  kinds[4].lies.stored_bytes = 1000;
  kinds[4].said = "past the end";
  kinds[5].lies.byte_count = 0xFFFFFFFF;
  kinds[5].said = "ZIP64";
  for (const Lie& lie : kinds) {
    const absl::Status status = ReadOnly(One("content", false, lie.lies)).status();
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(lie.said));
  }
  ZipLies longer;
  longer.byte_count = 8;
  REQUIRE_FALSE(ReadOnly(One("content", false, longer)).ok());
}

TEST_CASE("an archive cut anywhere is refused, and no flipped bit gives other content") {
  const std::string bytes = One("some content that matters", true);
  for (size_t length = 0; length < bytes.size(); ++length) {
    INFO(length);
    REQUIRE(absl::IsInvalidArgument(ReadOnly(bytes.substr(0, length)).status()));
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const auto archive = ZipArchive::Parse(flipped);
    if (!archive.ok()) continue;
    for (const ZipEntry& entry : archive->entries()) {
      const auto content = archive->Read(entry, kMost);
      INFO(bit);
      REQUIRE((!content.ok() || *content == "some content that matters"));
    }
  }
}

}  // namespace
}  // namespace sightline
