#include "common/base/checksum.h"

#include <fcntl.h>
#include <isa-l/crc.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/base/descriptor.h"
#include "common/base/files.h"
#include "common/base/read_pace.h"
#include "common/base/read_progress.h"

namespace sightline {
namespace {

// OpenSSL's SHA-256 fails only when memory or the library itself is broken; there is
// nothing that a caller could do about it.
void Insist(bool ok) {
  if (ok) return;
  std::fputs("OpenSSL cannot compute SHA-256; is libcrypto whole?\n", stderr);
  std::abort();
}

// OpenSSL looks EVP_sha256() up, by its name and under locks, each time that it is used; this once.
const EVP_MD* Algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  Insist(algorithm != nullptr);
  return algorithm;
}

}  // namespace

uint32_t Crc32c(absl::string_view bytes) {
  return ExtendCrc32c(0, bytes);
}

uint32_t ExtendCrc32c(uint32_t before, absl::string_view bytes) {
  // ISA-L takes an int for the length, and leaves both inversions of the CRC to us.
  constexpr size_t kPiece = size_t{1} << 30;
  uint32_t crc = before ^ 0xFFFFFFFFu;
  while (!bytes.empty()) {
    const size_t length = std::min(bytes.size(), kPiece);
    // The function takes a pointer to non-const but only reads.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(length), crc);
    bytes.remove_prefix(length);
  }
  return crc ^ 0xFFFFFFFFu;
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  Insist(context_ != nullptr);
  Insist(EVP_DigestInit_ex(context_, Algorithm(), nullptr) == 1);
}

Sha256::~Sha256() {
  EVP_MD_CTX_free(context_);
}

void Sha256::Update(absl::string_view bytes) {
  Insist(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::Raw() {
  std::string digest(32, '\0');
  unsigned int length = 0;
  Insist(EVP_DigestFinal_ex(context_, reinterpret_cast<unsigned char*>(digest.data()), &length) ==
         1);
  return digest;
}

std::string Sha256::Hex() {
  return absl::BytesToHexString(Raw());
}

std::string Sha256Hex(absl::string_view bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return sha.Hex();
}

bool IsSha256Hex(absl::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

absl::StatusOr<std::string> Sha256HexOfFile(absl::string_view path) {
  const Descriptor fd(::open(std::string(path).c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return FileError("open", path, errno);
  Sha256 sha;
  std::vector<char> buffer(size_t{1} << 20);
  while (true) {
    if (ReadPace* const pace = ReadPace::OfThread()) {
      pace->Await(static_cast<int64_t>(buffer.size()));
    }
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read", path, errno);
    if (got == 0) break;
    ReadProgress::AddOnThread(path, got);
    sha.Update(absl::string_view(buffer.data(), static_cast<size_t>(got)));
  }
  return sha.Hex();
}

}  // namespace sightline
