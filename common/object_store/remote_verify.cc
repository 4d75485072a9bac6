#include "common/object_store/remote_verify.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/read_progress.h"
#include "common/base/status_macros.h"
#include "common/base/work_on_threads.h"

namespace sightline {
namespace {

constexpr size_t kTold = 10;

// What is wrong with an object; "" if it is whole.
absl::StatusOr<std::string> Damage(ObjectStore* store, const ExpectedFile& expected,
                                   int64_t piece_bytes, const CallContext& call) {
  const absl::StatusOr<ObjectInfo> info = store->Stat(expected.key, call);
  if (absl::IsNotFound(info.status())) return std::string("is missing");
  RETURN_IF_ERROR(info.status());
  if (info->byte_count != expected.byte_count) {
    return absl::StrCat("has ", info->byte_count, " of ", expected.byte_count, " bytes");
  }
  Sha256 hash;
  for (int64_t at = 0; at < expected.byte_count;) {
    const int64_t length = std::min(piece_bytes, expected.byte_count - at);
    ASSIGN_OR_RETURN(const std::string piece, store->Read(expected.key, at, length, call));
    hash.Update(piece);
    ReadProgress::AddOnThread(expected.key, length);
    at += length;
  }
  const std::string sha256 = hash.Hex();
  if (sha256 == expected.sha256) return std::string();
  return absl::StrCat("has the SHA-256 ", sha256, "; its manifest says ", expected.sha256);
}

}  // namespace

absl::Status VerifyObjects(ObjectStore* store, const std::vector<ExpectedFile>& expected,
                           const FetchOptions& options, const CallContext& call) {
  ReadProgress* const progress = ReadProgress::Scope::current();
  std::vector<std::string> damages(expected.size());  // each written by the thread that reads it
  RETURN_IF_ERROR(WorkOnThreads(options.connections, expected.size(), [&](size_t i) {
    const ReadProgress::Scope scope(progress);
    const absl::StatusOr<std::string> damage =
        Damage(store, expected[i], options.piece_bytes, call);
    if (damage.ok() && !damage->empty()) {
      damages[i] = absl::StrCat(store->name(), "/", expected[i].key, " ", *damage);
    }
    return damage.status();
  }));
  damages.erase(std::remove(damages.begin(), damages.end(), ""), damages.end());
  if (damages.empty()) return absl::OkStatus();
  const size_t count = damages.size();
  damages.resize(std::min(count, kTold));
  return MakeError(
      reasons::kChecksumMismatch,
      absl::StrCat(count, " of ", expected.size(), count == 1 ? " objects is" : " objects are",
                   " damaged: ", absl::StrJoin(damages, "; ")));
}

}  // namespace sightline
