#include "common/models/inputs/pretraining_heads.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sightline {
namespace {

constexpr int64_t kAnyExtent = -1;
constexpr char kMask[] = "mask_embedding.weight";
constexpr absl::string_view kMaskTable = "img_embeddings.mask_embedding.weight";

struct HeadPart {
  std::string name;  // behind the head's
  std::vector<int64_t> shape;
};

std::vector<HeadPart> Layer(const std::string& name, int64_t in, int64_t out) {
  return {{name + ".weight", {out, in}}, {name + ".bias", {out}}};
}

std::vector<HeadPart> Norm(const std::string& name, int64_t size) {
  return {{name + ".weight", {size}}, {name + ".bias", {size}}};
}

std::vector<HeadPart> Joined(const std::vector<std::vector<HeadPart>>& lists) {
  std::vector<HeadPart> all;
  for (const std::vector<HeadPart>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

bool Fits(const TensorView& tensor, const std::vector<int64_t>& shape) {
  const bool fractions = tensor.dtype == TensorDtype::kF64 || tensor.dtype == TensorDtype::kF32 ||
                         tensor.dtype == TensorDtype::kF16 || tensor.dtype == TensorDtype::kBf16;
  return fractions && std::equal(tensor.shape.begin(), tensor.shape.end(), shape.begin(),
                                 shape.end(), [](int64_t has, int64_t wanted) {
                                   return wanted == kAnyExtent ? has > 0 : has == wanted;
                                 });
}

// What a hidden region shows, as a bundle or as a checkpoint has it; empty if neither does.
std::map<std::string, TensorView> MaskOf(const std::map<std::string, TensorView>& tensors) {
  const auto own = tensors.find(kMask);
  if (own != tensors.end()) return {*own};
  for (const auto& [name, tensor] : tensors) {
    if (!absl::EndsWith(name, kMaskTable) || tensor.shape.size() != 2 || tensor.shape[0] != 2) {
      continue;
    }
    TensorView row = tensor;
    row.shape[0] = 1;
    row.bytes.remove_prefix(row.bytes.size() / 2);
    return {{kMask, row}};
  }
  return {};
}

// Adds the head `name` to what was found: whole or torn, if any of its parts is there.
bool Find(const std::map<std::string, TensorView>& tensors, const std::string& name,
          const std::vector<HeadPart>& parts, FoundHeads* found) {
  std::map<std::string, TensorView> fit;
  bool any = false;
  for (const HeadPart& part : parts) {
    const auto held = tensors.find(absl::StrCat(name, ".", part.name));
    if (held == tensors.end()) continue;
    any = true;
    if (Fits(held->second, part.shape)) fit.insert(*held);
  }
  const bool whole = fit.size() == parts.size();
  if (whole) found->tensors.insert(fit.begin(), fit.end());
  if (any && !whole) found->torn.push_back(absl::StrCat(name, "."));
  return whole;
}

}  // namespace

bool IsOfPretrainingHead(absl::string_view name) {
  return std::any_of(std::begin(kPretrainingHeadNames), std::end(kPretrainingHeadNames),
                     [name](absl::string_view head) { return absl::StartsWith(name, head); });
}

bool HoldsPretrainingHeads(absl::string_view family) {
  return family == "uniter" || family == "lightningdot" || family == "oscar";
}

FoundHeads FindPretrainingHeads(const std::map<std::string, TensorView>& tensors,
                                const bundle::v1::TransformerSpec& spec) {
  const int64_t hidden = spec.hidden_size();
  const int64_t features = spec.region_feature_size();
  FoundHeads found;
  Find(tensors, "cls",
       Joined({Layer("predictions.transform.dense", hidden, hidden),
               Norm("predictions.transform.LayerNorm", hidden),
               {{"predictions.bias", {spec.vocabulary_size()}}}}),
       &found);
  bool of_regions =
      Find(tensors, "feat_regress",
           Joined({Layer("net.0", hidden, hidden), Norm("net.2", hidden), {{"bias", {features}}}}),
           &found);
  of_regions |= Find(tensors, "region_classifier",
                     Joined({Layer("net.0", hidden, hidden), Norm("net.2", hidden),
                             Layer("net.3", hidden, kAnyExtent)}),
                     &found);
  if (of_regions) Find(MaskOf(tensors), "mask_embedding", {{"weight", {1, features}}}, &found);
  return found;
}

}  // namespace sightline
