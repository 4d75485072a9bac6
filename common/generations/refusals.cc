#include "common/generations/refusals.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

constexpr int64_t kMaxBytes = 1 << 16;
constexpr char kProgram[] = "/proc/self/exe";

std::string StateOf(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return absl::StrCat(path, " missing\n");
  return absl::StrCat(path, " ", info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec,
                      " ", info.st_ino, "\n");
}

}  // namespace

std::string RefusalIdentity(const std::string& manifest_path,
                            const std::vector<std::string>& files) {
  Sha256 hash;
  hash.Update(StateOf(kProgram));
  hash.Update(StateOf(manifest_path));
  for (const std::string& file : files) hash.Update(StateOf(file));
  return hash.Hex();
}

Refusals::Refusals(absl::string_view state_dir)
    : directory_(state_dir.empty() ? "" : JoinPath(state_dir, "refused")) {}

std::string Refusals::PathOf(absl::string_view index, absl::string_view generation) const {
  return JoinPath(directory_, Sha256Hex(absl::StrCat(index, "/", generation)));
}

absl::Status Refusals::Find(absl::string_view index, absl::string_view generation,
                            absl::string_view identity) const {
  if (directory_.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadFile(PathOf(index, generation), kMaxBytes);
  if (!text.ok()) return absl::OkStatus();
  // index, generation, identity, code, reason, message (which may have lines).
  const std::vector<std::string> fields = absl::StrSplit(*text, absl::MaxSplits('\n', 5));
  int code = 0;
  const bool holds = fields.size() == 6 && fields[0] == index && fields[1] == generation &&
                     fields[2] == identity && absl::SimpleAtoi(fields[3], &code) && code > 0 &&
                     code <= 16;
  if (!holds) return absl::OkStatus();
  const absl::Status refusal(static_cast<absl::StatusCode>(code), fields[5]);
  return fields[4].empty() ? refusal : WithReason(refusal, ErrorReason{fields[4], {}});
}

absl::Status Refusals::Remember(absl::string_view index, absl::string_view generation,
                                absl::string_view identity, const absl::Status& refusal) {
  if (directory_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(MakeDirectories(directory_));
  const auto reason = GetReason(refusal);
  return WriteFileAtomically(
      PathOf(index, generation),
      absl::StrCat(index, "\n", generation, "\n", identity, "\n", refusal.raw_code(), "\n",
                   reason.has_value() ? reason->reason : "", "\n",
                   refusal.message().substr(0, kMaxBytes / 2)));
}

void Refusals::Forget(absl::string_view index, absl::string_view generation) {
  if (!directory_.empty()) ::unlink(PathOf(index, generation).c_str());
}

}  // namespace sightline
