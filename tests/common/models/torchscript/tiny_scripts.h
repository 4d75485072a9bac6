// A tiny "torchscript": modules as source text, and their bundle.
//
// Includes torch.
#ifndef SIGHTLINE_TESTS_COMMON_MODELS_TORCHSCRIPT_TINY_SCRIPTS_H_
#define SIGHTLINE_TESTS_COMMON_MODELS_TORCHSCRIPT_TINY_SCRIPTS_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/bundle/model_bundle.h"
#include "common/models/model.h"

namespace sightline {

// One scripted module: methods, and the tensors that they call self.NAME.
struct TinyScript {
  std::string source;
  std::map<std::string, at::Tensor> tensors;
};

// A model of 10 numbers a region and 5 an embedding, at most 9 regions and 12 tokens, of
// pictures 16 x 16; its rows are 6 wide.  Change it, then bundle it.
struct TinyScripts {
  TinyScripts();

  // Modules by file.
  std::map<std::string, TinyScript> modules;
  bundle::v1::ModelBundleManifest manifest;
  std::string vocabulary;

  // Writes what convert --scripts reads.  Throws if it cannot.
  void Write(const std::string& folder) const;
  // BundleScripts of it.
  absl::StatusOr<ModelBundle> Bundle(const std::string& store) const;
  // LoadModel of that.  Throws if it cannot.
  std::shared_ptr<const Model> Load(const ModelOptions& options = {}) const;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_MODELS_TORCHSCRIPT_TINY_SCRIPTS_H_
