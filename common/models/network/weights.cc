#include "common/models/network/weights.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error_details.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle_file.h"
#include "common/models/family_manifests.h"
#include "common/models/inference.h"
#include "common/models/inputs/manifest_checks.h"

namespace sightline {
namespace {

using NamedTensors = std::map<std::string, torch::Tensor>;

torch::ScalarType ScalarTypeOf(TensorDtype dtype) {
  switch (dtype) {
    case TensorDtype::kF64:
      return torch::kFloat64;
    case TensorDtype::kF32:
      return torch::kFloat32;
    case TensorDtype::kF16:
      return torch::kFloat16;
    case TensorDtype::kBf16:
      return torch::kBFloat16;
    case TensorDtype::kI64:
      return torch::kInt64;
    case TensorDtype::kI32:
      return torch::kInt32;
    case TensorDtype::kI16:
      return torch::kInt16;
    case TensorDtype::kI8:
      return torch::kInt8;
    case TensorDtype::kU8:
      return torch::kUInt8;
    case TensorDtype::kBool:
      return torch::kBool;
  }
  return torch::kFloat32;
}

// Parameters and buffers together, as a checkpoint holds them.
NamedTensors StateOf(const torch::nn::Module& module) {
  NamedTensors state;
  for (const auto& item : module.named_parameters()) state.emplace(item.key(), item.value());
  for (const auto& item : module.named_buffers()) state.emplace(item.key(), item.value());
  return state;
}

std::string ShapeText(torch::IntArrayRef shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

bool IsIgnored(absl::string_view name, const std::vector<std::string>& ignored) {
  return std::any_of(ignored.begin(), ignored.end(),
                     [&](const std::string& prefix) { return absl::StartsWith(name, prefix); });
}

// Differences between a file and a module, as one message.
struct Differences {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::vector<std::string> unfit;

  absl::Status ToStatus() const {
    std::vector<std::string> parts;
    if (!missing.empty()) parts.push_back("missing: " + absl::StrJoin(missing, ", "));
    if (!unexpected.empty()) parts.push_back("unexpected: " + absl::StrJoin(unexpected, ", "));
    if (!unfit.empty()) parts.push_back("unfit: " + absl::StrJoin(unfit, ", "));
    if (parts.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the weights do not fit the model; ", absl::StrJoin(parts, "; ")));
  }
};

// Numbers that are converted at once: beside the file and the module there is not much else.
constexpr int64_t kPieceNumbers = 1 << 16;

// body(first, piece): the numbers of `view` from `first` on, piece after piece, as ToTorch has
// them.
template <typename Body>
void ForPieces(const TensorView& view, const Body& body) {
  const torch::ScalarType type = ScalarTypeOf(view.dtype);
  const auto size = static_cast<int64_t>(torch::elementSize(type));
  const auto count = static_cast<int64_t>(view.bytes.size()) / size;
  for (int64_t first = 0; first < count; first += kPieceNumbers) {
    torch::Tensor piece = torch::empty({std::min(kPieceNumbers, count - first)}, type);
    // Through memcpy: the file need not be aligned.
    std::memcpy(piece.data_ptr(), view.bytes.data() + first * size, piece.nbytes());
    body(first, piece.to(piece.is_floating_point() ? torch::kFloat32 : torch::kInt64));
  }
}

bool AllFinite(const TensorView& view) {
  bool finite = true;
  ForPieces(view, [&](int64_t, const torch::Tensor& piece) {
    finite = finite && torch::isfinite(piece).all().item<bool>();
  });
  return finite;
}

float LeastOf(const TensorView& view) {
  float least = std::numeric_limits<float>::infinity();
  ForPieces(view, [&](int64_t, const torch::Tensor& piece) {
    least = std::min(least, piece.min().item<float>());
  });
  return least;
}

// Why `loaded` cannot take the place of `target`, the tensor `name`; empty if it can.
std::string Misfit(absl::string_view name, const TensorView& loaded, const torch::Tensor& target) {
  if (torch::IntArrayRef(loaded.shape) != target.sizes()) {
    return absl::StrCat("has shape ", ShapeText(loaded.shape), " instead of ",
                        ShapeText(target.sizes()));
  }
  const bool has_fractions = torch::isFloatingType(ScalarTypeOf(loaded.dtype));
  if (has_fractions != target.is_floating_point()) {
    return absl::StrCat("holds ", has_fractions ? "fractions" : "integers", " instead of ",
                        target.is_floating_point() ? "fractions" : "integers");
  }
  if (has_fractions && !AllFinite(loaded)) return "has a number that is not finite";
  // A batch norm's; the root of one would make every score NaN.
  const float least = absl::EndsWith(name, "running_var") ? LeastOf(loaded) : 0;
  if (least >= 0) return "";
  return absl::StrCat("has the variance ", least, ", and variances are not negative");
}

absl::Status LoadInto(const Safetensors& file, const std::vector<std::string>& ignored,
                      torch::nn::Module* module) {
  const NamedTensors state = StateOf(*module);
  std::map<std::string, const TensorView*> found;
  Differences differences;
  for (const auto& [name, view] : file.tensors()) {
    const auto target = state.find(name);
    if (target == state.end()) {
      if (!IsIgnored(name, ignored)) differences.unexpected.push_back(name);
      continue;
    }
    const std::string misfit = Misfit(name, view, target->second);
    if (!misfit.empty()) differences.unfit.push_back(absl::StrCat(name, " ", misfit));
    found.emplace(name, &view);
  }
  for (const auto& [name, target] : state) {
    if (found.count(name) == 0) {
      differences.missing.push_back(absl::StrCat(name, " ", ShapeText(target.sizes())));
    }
  }
  RETURN_IF_ERROR(differences.ToStatus());
  torch::NoGradGuard no_grad;
  for (const auto& [name, target] : state) {
    const torch::Tensor numbers = target.view(-1);
    ForPieces(*found.at(name), [&](int64_t first, const torch::Tensor& piece) {
      numbers.narrow(0, first, piece.size(0)).copy_(piece);
    });
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<torch::Tensor> ToTorch(const TensorView& view) {
  torch::Tensor result;
  RETURN_IF_ERROR(RunGuarded("read weights", [&] {
    torch::Tensor raw = torch::empty(view.shape, ScalarTypeOf(view.dtype));
    if (raw.nbytes() != view.bytes.size()) {
      return absl::DataLossError(absl::StrCat("a tensor of shape ", ShapeText(view.shape), " has ",
                                              view.bytes.size(), " bytes"));
    }
    // Through memcpy: the file need not be aligned.  Which forbids null, even for nothing.
    if (raw.numel() > 0) std::memcpy(raw.data_ptr(), view.bytes.data(), view.bytes.size());
    result = raw.to(raw.is_floating_point() ? torch::kFloat32 : torch::kInt64);
    return absl::OkStatus();
  }));
  return result;
}

absl::Status LoadWeights(const Safetensors& file, const std::vector<std::string>& ignored,
                         torch::nn::Module* module) {
  return RunGuarded("load weights", [&] { return LoadInto(file, ignored, module); });
}

absl::Status CheckWeightsLength(const ModelBundle& bundle) {
  ASSIGN_OR_RETURN(const std::string path, ListedFile(bundle, kWeightsFile));
  ASSIGN_OR_RETURN(const int64_t bytes, FileSize(path));
  const int64_t least = LeastWeightCount(bundle.manifest);
  if (bytes >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, " has ", bytes, " bytes, but the manifest describes at least ", least, " weights"));
}

absl::Status LoadBundleWeights(const ModelBundle& bundle, const std::vector<std::string>& ignored,
                               torch::nn::Module* module) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ResidentMemory> memory,
                   ReadBundleFile(bundle, kWeightsFile));
  const absl::string_view bytes(memory->data(), static_cast<size_t>(memory->size()));
  const std::string path = bundle.FilePath(kWeightsFile);
  const auto file = Safetensors::FromBytes(bytes);
  if (!file.ok()) return WithPrefix(file.status(), path);
  const absl::Status status = LoadWeights(**file, ignored, module);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::StatusOr<std::string> SerializeWeights(const torch::nn::Module& module, WeightDtype dtype) {
  std::string bytes;
  RETURN_IF_ERROR(RunGuarded("serialize weights", [&] {
    NamedTensors stored;
    std::map<std::string, TensorView> views;
    for (const auto& [name, value] : StateOf(module)) {
      const bool fraction = value.is_floating_point();
      const bool half = fraction && dtype == WeightDtype::kFloat16;
      torch::Tensor tensor = value.detach().cpu().contiguous().to(half       ? torch::kFloat16
                                                                  : fraction ? torch::kFloat32
                                                                             : torch::kInt64);
      if (half && !torch::isfinite(tensor).all().item<bool>()) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " does not fit float16; store the weights as float32"));
      }
      TensorView view;
      view.dtype = half ? TensorDtype::kF16 : fraction ? TensorDtype::kF32 : TensorDtype::kI64;
      view.shape = tensor.sizes().vec();
      view.bytes = absl::string_view(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
      views.emplace(name, view);
      stored.emplace(name, std::move(tensor));
    }
    bytes = SerializeSafetensors(views);
    return absl::OkStatus();
  }));
  return bytes;
}

absl::Status RandomizeWeights(uint64_t seed, torch::nn::Module* module) {
  return RunGuarded("randomize weights", [&] {
    torch::NoGradGuard no_grad;
    at::Generator generator = at::detail::createCPUGenerator(seed);
    // In name order (the map's), so that the numbers do not depend on how a module
    // happens to register its children.
    for (auto& [name, parameter] : StateOf(*module)) {
      torch::Tensor values = parameter;
      if (values.dim() >= 3) {
        const double fan_in = static_cast<double>(values[0].numel());
        values.normal_(0, std::sqrt(2 / fan_in), generator);
      } else if (values.dim() == 2) {
        values.normal_(0, 0.02, generator);
      } else if (absl::EndsWith(name, "centroids")) {
        values.normal_(0, 1, generator);
      } else {
        const absl::string_view own = absl::string_view(name).substr(name.rfind('.') + 1);
        values.fill_(absl::StartsWith(own, "bias") || own == "running_mean" ? 0 : 1);
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace sightline
