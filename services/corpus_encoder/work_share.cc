#include "services/corpus_encoder/work_share.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int64_t kMaxAgreementBytes = 1 << 16;

}  // namespace

int WorkShare::OwnerOf(absl::string_view hash) const {
  uint64_t number = 0;
  // 60 bits of the hash; what is not hexadecimal is nobody's name.
  static_cast<void>(absl::SimpleHexAtoi(hash.substr(0, 15), &number));
  return static_cast<int>(number % static_cast<uint64_t>(workers));
}

absl::StatusOr<std::string> AgreeOn(absl::string_view path, absl::string_view proposal,
                                    const WorkShare& share) {
  const std::string agreed(path);
  absl::StatusOr<std::string> found = ReadFile(agreed, kMaxAgreementBytes);
  if (!absl::IsNotFound(found.status())) return found;
  // Written beside it, whole, and then linked: unlike rename, link refuses a name that is
  // taken.
  const std::string own = absl::StrCat(agreed, ".", share.worker);
  RETURN_IF_ERROR(WriteFileAtomically(own, proposal));
  const int error_number = ::link(own.c_str(), agreed.c_str()) == 0 ? 0 : errno;
  ::unlink(own.c_str());
  if (error_number != 0 && error_number != EEXIST) return FileError("link", agreed, error_number);
  return ReadFile(agreed, kMaxAgreementBytes);
}

}  // namespace sightline
