#include "common/models/convert/kept_heads.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/models/inputs/pretraining_heads.h"

namespace sightline {

void KeepPretrainingHeads(const Checkpoint& source, Conversion* conversion) {
  const FoundHeads found =
      FindPretrainingHeads(source.tensors(), conversion->manifest.transformer());
  conversion->tensors.insert(found.tensors.begin(), found.tensors.end());
  if (found.torn.empty()) return;
  conversion->warnings.push_back(
      absl::StrCat("heads of pre-training of which a part is missing or of another shape are left "
                   "out: ",
                   absl::StrJoin(found.torn, ", ")));
}

}  // namespace sightline
