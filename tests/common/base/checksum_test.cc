#include "common/base/checksum.h"

#include <cstdint>
#include <random>
#include <string>

#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// Bit by bit, from the definition: reflected polynomial 0x82F63B78.
uint32_t SlowCrc32c(absl::string_view bytes) {
  uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0);
  }
  return ~crc;
}

TEST_CASE("CRC32C gives the values of RFC 3720 and of the catalogues") {
  REQUIRE(Crc32c("123456789") == 0xE3069283u);
  REQUIRE(Crc32c("") == 0u);
  REQUIRE(Crc32c(std::string(32, '\0')) == 0x8A9136AAu);
  REQUIRE(Crc32c(std::string(32, '\xff')) == 0x62A8AB43u);
}

TEST_CASE("CRC32C equals the definition at every length and alignment") {
  std::mt19937 random(1);
  std::string bytes(4200, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  for (size_t start = 0; start < 9; ++start) {
    for (size_t length = 0; length < 300; ++length) {
      const auto piece = absl::string_view(bytes).substr(start, length);
      if (Crc32c(piece) != SlowCrc32c(piece)) FAIL("start " << start << ", length " << length);
    }
  }
  REQUIRE(Crc32c(bytes) == SlowCrc32c(bytes));
}

TEST_CASE("SHA-256 gives the values of FIPS 180") {
  REQUIRE(Sha256Hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  REQUIRE(Sha256Hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 sha;
  for (int i = 0; i < 1000; ++i) sha.Update(std::string(1000, 'a'));
  REQUIRE(sha.Hex() == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("raw and hex digests say the same") {
  Sha256 sha;
  sha.Update("ab");
  sha.Update("");
  sha.Update("c");
  const std::string raw = sha.Raw();
  REQUIRE(raw.size() == 32);
  REQUIRE(static_cast<uint8_t>(raw[0]) == 0xBA);
  REQUIRE(static_cast<uint8_t>(raw[31]) == 0xAD);
}

TEST_CASE("a file's SHA-256 is that of its content, in however many pieces it is read") {
  TempDir dir;
  const std::string content((size_t{5} << 19) + 7, 'x');
  REQUIRE(WriteFileAtomically(dir.File("f"), content).ok());
  REQUIRE(*Sha256HexOfFile(dir.File("f")) == Sha256Hex(content));
  REQUIRE(absl::IsNotFound(Sha256HexOfFile(dir.File("none")).status()));
  REQUIRE_FALSE(Sha256HexOfFile(dir.path()).ok());
}

TEST_CASE("only 64 lower-case hex digits are a digest") {
  const std::string digest = Sha256Hex("x");
  REQUIRE(IsSha256Hex(digest));
  REQUIRE_FALSE(IsSha256Hex(""));
  REQUIRE_FALSE(IsSha256Hex(digest.substr(1)));
  REQUIRE_FALSE(IsSha256Hex(digest + "0"));
  REQUIRE_FALSE(IsSha256Hex("A" + digest.substr(1)));
  REQUIRE_FALSE(IsSha256Hex("../" + digest.substr(3)));
  REQUIRE_FALSE(IsSha256Hex("g" + digest.substr(1)));
}

}  // namespace
}  // namespace sightline
