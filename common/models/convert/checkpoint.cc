#include "common/models/convert/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"

namespace sightline {
namespace {

using Kind = PickleValue::Kind;

constexpr const char* kFileNames[] = {
    "weights.safetensors", "model.safetensors",     "pytorch_model.bin", "model.cpkt", "model.pt",
    "weights.pt",          "m3p_under_weights.pth",
};
constexpr const char* kMmtTrunks[] = {"0_OSCAR", "0_M3P"};
constexpr char kMmtHead[] = "1_ClassificationHead/class_head.pt";
constexpr char kMmtPooling[] = "2_Pooling/config.json";
constexpr const char* kWrappers[] = {"model_dict", "model", "state_dict", "model_state_dict"};
constexpr int kWrapperDepth = 3;
constexpr const char* kSgrafParts[] = {"img_enc.", "txt_enc.", "sim_enc."};

// What of training_args.bin matters.  to_safetensors.py knows the same names.
struct TrainingArgument {
  const char* name;
  Kind kind;
};
constexpr TrainingArgument kTrainingArguments[] = {
    {"max_seq_length", Kind::kInt}, {"max_img_seq_length", Kind::kInt},
    {"max_tag_length", Kind::kInt}, {"att_mask_type", Kind::kText},
    {"add_od_labels", Kind::kBool}, {"img_layer_norm_eps", Kind::kFloat},
};

// What of a config must be a whole number, and a number, where it is there.
constexpr const char* kWholeNumbers[] = {
    "num_attention_heads", "n_heads",        "hidden_size",        "num_hidden_layers",
    "intermediate_size",   "max_seq_length", "max_img_seq_length", "max_tag_length",
    "vocab_size",          "emde_k",
};
constexpr const char* kNumbers[] = {"layer_norm_eps", "img_layer_norm_eps"};

// For a message.  What is nested is not written out: it may be deeper than the stack.
std::string Told(const nlohmann::json& value) {
  return value.is_structured() ? absl::StrCat("an ", value.type_name())
                               : value.dump().substr(0, 100);
}

// A number that is written as a text would otherwise be as good as missing.
absl::Status CheckNumbers(const nlohmann::json& config) {
  const auto check = [&](const char* key, bool whole) {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null()) return absl::OkStatus();
    if (whole ? found->is_number_integer() : found->is_number()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("config.json has ", key, " ", Told(*found),
                                                   ", wanted a ", whole ? "whole " : "", "number"));
  };
  for (const char* key : kWholeNumbers) RETURN_IF_ERROR(check(key, true));
  for (const char* key : kNumbers) RETURN_IF_ERROR(check(key, false));
  return absl::OkStatus();
}

// Its contents decide, or else its name.
absl::StatusOr<bool> IsSafetensors(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file, MappedFile::Open(path));
  // The length of a header, which is a JSON object.
  if (file->bytes().size() > 8 && file->bytes()[8] == '{') return true;
  return absl::EndsWith(path, ".safetensors") && !LooksLikeTorchFile(file->bytes());
}

// Of a value of one of these kinds.
nlohmann::json JsonOf(const PickleValue& value) {
  switch (value.kind) {
    case Kind::kInt:
      return value.integer;
    case Kind::kBool:
      return value.integer != 0;
    case Kind::kFloat:
      return value.real;
    default:
      return value.text;
  }
}

bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

absl::StatusOr<nlohmann::json> ReadJsonObject(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, limits::kMaxModelConfigBytes));
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  return absl::InvalidArgumentError(absl::StrCat(path, " is not a JSON object"));
}

// The file of a folder that is a checkpoint.
absl::StatusOr<std::string> FileOf(const std::string& folder) {
  std::vector<std::string> found;
  for (const char* name : kFileNames) {
    if (FileExists(JoinPath(folder, name))) found.push_back(name);
  }
  if (found.size() == 1) return JoinPath(folder, found[0]);
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("folder ", folder, " holds none of ",
                                            absl::StrJoin(kFileNames, ", "),
                                            "; name the checkpoint's file"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "folder ", folder, " holds ", absl::StrJoin(found, " and "), "; name the one that is meant"));
}

bool HasTensor(const PickleValue& dict) {
  return dict.kind == Kind::kDict &&
         std::any_of(dict.items.begin(), dict.items.end(),
                     [](const PickleValue* item) { return TorchPickle::IsTensor(*item); });
}

bool IsSgrafList(const PickleValue& value) {
  return (value.kind == Kind::kList || value.kind == Kind::kTuple) && value.items.size() == 3 &&
         std::all_of(value.items.begin(), value.items.end(),
                     [](const PickleValue* item) { return HasTensor(*item); });
}

// The dict of tensors, or list of three, in one of the wrappers of `value`, at most `depth`
// deep, or else `value` itself: beside a wrapper a tensor may stand that is no weight.  Null if
// there is none.
const PickleValue* FindStateDict(const PickleValue& value, int depth) {
  for (const char* wrapper : kWrappers) {
    const PickleValue* inner = depth > 0 ? value.Find(wrapper) : nullptr;
    const PickleValue* found = inner != nullptr ? FindStateDict(*inner, depth - 1) : nullptr;
    if (found != nullptr) return found;
  }
  return HasTensor(value) || IsSgrafList(value) ? &value : nullptr;
}

std::string NoStateDict(const PickleValue& root) {
  if (root.kind == Kind::kObject) {
    return absl::StrCat("an object of class ", absl::CHexEscape(root.text.substr(0, 100)),
                        " was saved; save its state_dict()");
  }
  std::vector<std::string> keys;
  if (root.kind == Kind::kDict) {
    for (size_t i = 0; i < root.items.size() && keys.size() < 10; i += 2) {
      keys.push_back(absl::CHexEscape(root.items[i]->text.substr(0, 100)));
    }
  }
  return absl::StrCat("no dict of tensors is in it, neither at the top nor below ",
                      absl::StrJoin(kWrappers, ", "),
                      keys.empty() ? "" : "; the top has " + absl::StrJoin(keys, ", "));
}

// BERT's first names of a norm's parameters.
std::string ModernName(absl::string_view name) {
  if (absl::ConsumeSuffix(&name, ".gamma")) return absl::StrCat(name, ".weight");
  if (absl::ConsumeSuffix(&name, ".beta")) return absl::StrCat(name, ".bias");
  return std::string(name);
}

// What nn.DataParallel puts before all names.
absl::string_view CommonPrefix(const std::vector<absl::string_view>& names) {
  constexpr absl::string_view kParallel = "module.";
  const bool all = std::all_of(names.begin(), names.end(), [&](absl::string_view name) {
    return absl::StartsWith(name, kParallel);
  });
  return all && !names.empty() ? kParallel : "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Checkpoint>> Checkpoint::Open(const std::string& path,
                                                             const std::string& config) {
  std::unique_ptr<Checkpoint> result(new Checkpoint);
  std::string file = path;
  bool is_mmt = false;
  if (IsFolder(path)) {
    std::string folder = path;
    for (const char* trunk : kMmtTrunks) {
      if (!IsFolder(JoinPath(path, trunk))) continue;
      folder = JoinPath(path, trunk);
      is_mmt = true;
    }
    ASSIGN_OR_RETURN(file, FileOf(folder));
  }
  RETURN_IF_ERROR(result->AddFile(file));
  const std::string head = JoinPath(path, kMmtHead);
  if (is_mmt && FileExists(head)) RETURN_IF_ERROR(result->AddFile(head));
  const std::string pooling = JoinPath(path, kMmtPooling);
  if (is_mmt && FileExists(pooling)) {
    ASSIGN_OR_RETURN(result->pooling_, ReadJsonObject(pooling));
  }

  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  result->file_name_ = std::filesystem::path(file).filename();
  const std::string beside = (folder / "config.json").string();
  if (!config.empty() || FileExists(beside)) {
    ASSIGN_OR_RETURN(result->config_, ReadJsonObject(config.empty() ? beside : config));
  }
  const std::string arguments = (folder / "training_args.bin").string();
  if (FileExists(arguments)) result->ReadTrainingArguments(arguments);
  RETURN_IF_ERROR(CheckNumbers(result->config_));
  return result;
}

absl::Status Checkpoint::AddFile(const std::string& path) {
  ASSIGN_OR_RETURN(const bool is_safetensors, IsSafetensors(path));
  if (is_safetensors) {
    ASSIGN_OR_RETURN(std::unique_ptr<Safetensors> file, Safetensors::Open(path));
    safetensors_.push_back(std::move(file));
    const auto& tensors = safetensors_.back()->tensors();
    std::vector<absl::string_view> names;
    for (const auto& [name, view] : tensors) names.push_back(name);
    const size_t prefix = CommonPrefix(names).size();
    for (const auto& [name, view] : tensors) RETURN_IF_ERROR(AddTensor(name.substr(prefix), view));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::unique_ptr<TorchPickle> file, TorchPickle::Open(path));
  pickles_.push_back(std::move(file));
  const absl::Status status = AddStateDicts(pickles_.back().get());
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::Status Checkpoint::AddTensor(const std::string& name, TensorView view) {
  if (tensors_.emplace(ModernName(name), std::move(view)).second) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("tensor ", absl::CHexEscape(name.substr(0, 200)), " is there twice"));
}

absl::Status Checkpoint::AddStateDicts(TorchPickle* file) {
  const PickleValue* found = FindStateDict(file->root(), kWrapperDepth);
  if (found == nullptr) return absl::InvalidArgumentError(NoStateDict(file->root()));
  if (found->kind == Kind::kDict) return AddStateDict("", *found, file);
  for (size_t i = 0; i < found->items.size(); ++i) {
    RETURN_IF_ERROR(AddStateDict(kSgrafParts[i], *found->items[i], file));
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::AddStateDict(const std::string& prefix, const PickleValue& dict,
                                      TorchPickle* file) {
  std::vector<std::pair<absl::string_view, const PickleValue*>> entries;
  std::vector<absl::string_view> names;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    // What is no tensor (an epoch, a version) is not a weight.
    if (dict.items[i]->kind != Kind::kText || !TorchPickle::IsTensor(*dict.items[i + 1])) continue;
    entries.emplace_back(dict.items[i]->text, dict.items[i + 1]);
    names.push_back(dict.items[i]->text);
  }
  const size_t parallel = CommonPrefix(names).size();
  for (const auto& [name, value] : entries) {
    absl::StatusOr<TensorView> view = file->ReadTensor(*value);
    if (!view.ok()) {
      return absl::Status(view.status().code(),
                          absl::StrCat("tensor ", absl::CHexEscape(name.substr(0, 200)), ": ",
                                       view.status().message()));
    }
    RETURN_IF_ERROR(AddTensor(absl::StrCat(prefix, name.substr(parallel)), *std::move(view)));
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::CheckMeanPooling() const {
  constexpr absl::string_view kMode = "pooling_mode_";
  const std::string mean = absl::StrCat(kMode, "mean_tokens");
  std::vector<std::string> others;
  for (const auto& [key, value] : pooling_.items()) {
    const bool is_mode = absl::StartsWith(key, kMode) && key != mean;
    if (is_mode && value.is_boolean() && value.get<bool>()) others.push_back(key);
  }
  const auto found = pooling_.find(mean);
  const bool is_mean = found == pooling_.end() || *found == true;
  if (is_mean && others.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(kMmtPooling, " says ", is_mean ? "" : mean + " false",
                   is_mean || others.empty() ? "" : ", ", absl::StrJoin(others, ", "),
                   "; embeddings are computed as the mean of the rows alone; --use cross-encoder "
                   "converts what needs none"));
}

// An argparse.Namespace: an object whose state is a dict.
void Checkpoint::ReadTrainingArguments(const std::string& path) {
  const absl::StatusOr<std::unique_ptr<TorchPickle>> file = TorchPickle::Open(path);
  if (!file.ok()) {
    // to_safetensors.py has been there.
    if (config_.contains(kTrainingArguments[0].name)) return;
    const std::string why =
        absl::IsFailedPrecondition(file.status())
            ? absl::StrCat(path, ": it is not of the form that PyTorch writes since 1.6")
            : std::string(file.status().message());
    warnings_.push_back(absl::StrCat(
        "training arguments are not read from ", why, "; ",
        absl::StrJoin(kTrainingArguments, ", ",
                      [](std::string* out, const TrainingArgument& argument) {
                        absl::StrAppend(out, argument.name);
                      }),
        " come from config.json or flags, or are assumed.  "
        "deploy/models/to_safetensors.py OUT.safetensors CHECKPOINT writes them into a "
        "config.json beside OUT"));
    return;
  }
  const PickleValue& root = (*file)->root();
  const PickleValue* state = root.kind == Kind::kObject ? root.items.back() : &root;
  for (const TrainingArgument& argument : kTrainingArguments) {
    const PickleValue* value = state->Find(argument.name);
    if (value == nullptr || value->kind != argument.kind || config_.contains(argument.name)) {
      continue;
    }
    config_[argument.name] = JsonOf(*value);
  }
}

absl::optional<int64_t> Checkpoint::Integer(absl::string_view key) const {
  const auto found = config_.find(std::string(key));
  if (found == config_.end() || !found->is_number_integer()) return absl::nullopt;
  return found->get<int64_t>();
}

absl::optional<double> Checkpoint::Number(absl::string_view key) const {
  const auto found = config_.find(std::string(key));
  if (found == config_.end() || !found->is_number()) return absl::nullopt;
  return found->get<double>();
}

absl::optional<bool> Checkpoint::Boolean(absl::string_view key) const {
  const auto found = config_.find(std::string(key));
  if (found == config_.end() || !found->is_boolean()) return absl::nullopt;
  return found->get<bool>();
}

absl::optional<std::string> Checkpoint::Text(absl::string_view key) const {
  const auto found = config_.find(std::string(key));
  if (found == config_.end() || !found->is_string()) return absl::nullopt;
  return found->get<std::string>();
}

}  // namespace sightline
