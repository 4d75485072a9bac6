#include "common/tokenizer/gunzip.h"

#include <random>
#include <string>

#include "absl/strings/match.h"
#include "tests/support/catch.h"
#include "tests/support/gzip.h"

namespace sightline {
namespace {

constexpr size_t kPlenty = 1 << 20;

std::string Error(const std::string& bytes, size_t max_bytes = kPlenty) {
  const auto content = GunzipIfGzipped(bytes, max_bytes);
  REQUIRE(content.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(content.status().message());
}

TEST_CASE("what is gzipped is unpacked, with all its members, and the rest passes") {
  const std::string long_text(200'000, 'x');
  REQUIRE(GunzipIfGzipped(Gzip("fish"), kPlenty).value() == "fish");
  REQUIRE(GunzipIfGzipped(Gzip(""), kPlenty).value().empty());
  REQUIRE(GunzipIfGzipped(Gzip("red ") + Gzip(long_text), kPlenty).value() == "red " + long_text);
  REQUIRE(GunzipIfGzipped("fish", kPlenty).value() == "fish");
  REQUIRE(GunzipIfGzipped("", kPlenty).value().empty());
}

TEST_CASE("content may have the limit's bytes and no more") {
  const std::string bytes = Gzip(std::string(100'000, 'x'));
  REQUIRE(GunzipIfGzipped(bytes, 100'000).value().size() == 100'000);
  REQUIRE(absl::StrContains(Error(bytes, 99'999), "more than the 99999 bytes"));
  REQUIRE(absl::StrContains(Error("fish", 3), "more than the 3 bytes"));
}

TEST_CASE("a file cut anywhere is refused, and so is any flipped bit that matters") {
  std::mt19937 random(1);
  std::string content;
  for (int i = 0; i < 500; ++i) content += static_cast<char>(random());
  const std::string bytes = Gzip(content);
  for (size_t i = 2; i < bytes.size(); ++i) {
    Error(bytes.substr(0, i));
    std::string flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    const auto unpacked = GunzipIfGzipped(flipped, kPlenty);
    if (unpacked.ok()) REQUIRE(*unpacked == content);  // a flag or the time of the header
  }
  REQUIRE(absl::StrContains(Error(bytes.substr(0, 100)), "cut off"));
  REQUIRE(absl::StrContains(Error(bytes + "more"), "damaged"));
}

}  // namespace
}  // namespace sightline
