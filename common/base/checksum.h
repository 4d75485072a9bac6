// Checksums: CRC32C against accidents, SHA-256 for names and contents.
#ifndef SIGHTLINE_COMMON_BASE_CHECKSUM_H_
#define SIGHTLINE_COMMON_BASE_CHECKSUM_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_md_ctx_st;

namespace sightline {

// CRC-32C (Castagnoli), as in iSCSI and LevelDB before masking; "123456789" gives
// 0xE3069283.
uint32_t Crc32c(absl::string_view bytes);

// That of what has `crc` with `bytes` behind it: Crc32c("ab") is ExtendCrc32c(Crc32c("a"),
// "b"), and 0 is that of nothing.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

// Incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(absl::string_view bytes);
  // 64 lower-case hex digits.  The object is spent.
  std::string Hex();
  // 32 raw bytes.  The object is spent.
  std::string Raw();

 private:
  evp_md_ctx_st* const context_;  // OpenSSL's
};

std::string Sha256Hex(absl::string_view bytes);

// Whether `text` is 64 lower-case hex digits: the only form in which a digest may name a
// folder.
bool IsSha256Hex(absl::string_view text);

// Of a file's content, read in pieces, at the calling thread's ReadPace and counted in its
// ReadProgress.
absl::StatusOr<std::string> Sha256HexOfFile(absl::string_view path);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_CHECKSUM_H_
