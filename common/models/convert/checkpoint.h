// Checkpoints as people hold them: named tensors and the sizes that stand beside them.
#ifndef SIGHTLINE_COMMON_MODELS_CONVERT_CHECKPOINT_H_
#define SIGHTLINE_COMMON_MODELS_CONVERT_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/formats/safetensors.h"
#include "common/formats/torch_pickle.h"

namespace sightline {

using NamedTensors = std::map<std::string, TensorView>;

// One checkpoint, opened.  Not thread-safe.
class Checkpoint {
 public:
  // `path` is a .safetensors file, a zip pickle of torch.save, or a folder that holds one
  // of either under a usual name; MMT-Retrieval's folders (0_OSCAR or 0_M3P beside
  // 1_ClassificationHead and 2_Pooling) are one checkpoint.  `config` is the path of its
  // config.json; empty: the one beside the file, if there is one.  Of training_args.bin, where it
  // lies beside the file, what matters is read that config.json does not have.
  //
  // A dict of tensors is looked for below model_dict, model, state_dict and model_state_dict,
  // and else at the top; a list of three dicts are SGRAF's img_enc, txt_enc and sim_enc.
  // "module." before all names goes, and gamma and beta become weight and bias.
  //
  // NotFound, InvalidArgument (no tensors; a name twice; a config that is no JSON object)
  // and the errors of the formats.
  static absl::StatusOr<std::unique_ptr<Checkpoint>> Open(const std::string& path,
                                                          const std::string& config);

  // Views into what this object holds.
  const NamedTensors& tensors() const { return tensors_; }

  // Name of the file that the tensors come from: "model.cpkt".
  const std::string& file_name() const { return file_name_; }
  // InvalidArgument if a folder of MMT-Retrieval says that embeddings are anything but the mean
  // of the rows.
  absl::Status CheckMeanPooling() const;

  // A whole number, a number, true or false, or a text of the config; nullopt if it is not there or
  // something else.
  absl::optional<int64_t> Integer(absl::string_view key) const;
  absl::optional<double> Number(absl::string_view key) const;
  absl::optional<bool> Boolean(absl::string_view key) const;
  absl::optional<std::string> Text(absl::string_view key) const;

  // For people: what could not be read and may matter.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Checkpoint() = default;
  absl::Status AddFile(const std::string& path);
  absl::Status AddTensor(const std::string& name, TensorView view);
  absl::Status AddStateDicts(TorchPickle* file);
  absl::Status AddStateDict(const std::string& prefix, const PickleValue& dict, TorchPickle* file);
  void ReadTrainingArguments(const std::string& path);

  std::vector<std::unique_ptr<Safetensors>> safetensors_;
  std::vector<std::unique_ptr<TorchPickle>> pickles_;
  NamedTensors tensors_;
  std::string file_name_;
  nlohmann::json pooling_ = nlohmann::json::object();
  nlohmann::json config_ = nlohmann::json::object();
  std::vector<std::string> warnings_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_CONVERT_CHECKPOINT_H_
