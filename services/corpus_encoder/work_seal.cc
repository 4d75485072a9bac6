#include "services/corpus_encoder/work_seal.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "services/corpus_encoder/work_folder.h"

namespace sightline {

absl::Status WriteSeal(const std::string& seal, absl::string_view content) {
  RETURN_IF_ERROR(MakeFolderOf(seal));
  return WriteFileAtomically(seal, content);
}

void RemoveSeal(const std::string& seal) {
  ::unlink(seal.c_str());
}

absl::Status BreakSeal(const std::string& seal, int worker, const absl::Status& found) {
  if (!absl::IsDataLoss(found) && !absl::IsNotFound(found) && !IsFailedRead(found)) return found;
  RemoveSeal(seal);
  return absl::DataLossError(
      absl::StrCat(found.message(), "; run worker ", worker, " again, which makes it anew"));
}

}  // namespace sightline
