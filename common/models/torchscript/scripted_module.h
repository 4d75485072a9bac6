// A scripted module of a bundle, called with its results checked.
//
// Includes torch: only .cc files of common/models include this.
#ifndef SIGHTLINE_COMMON_MODELS_TORCHSCRIPT_SCRIPTED_MODULE_H_
#define SIGHTLINE_COMMON_MODELS_TORCHSCRIPT_SCRIPTED_MODULE_H_

#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"

namespace sightline {

// A method that a module must have, and how many arguments it is given.
struct ScriptedMethod {
  const char* name;
  int argument_count;
};

// Lengths of a tensor's dimensions; kAnyLength where any will do.
using WantedShape = std::vector<int64_t>;
inline constexpr int64_t kAnyLength = -1;

// Immutable.  Calls from several threads at once are safe: each has an interpreter of its
// own, LibTorch locks while it prepares a method's code, and the weights are only read.  That
// holds as long as the module does not change its own attributes, which README.md forbids.
class ScriptedModule {
 public:
  // The bundle's file `file` as torch.jit.save wrote it, on `device` and in evaluation mode.
  // InvalidArgument, naming the file, for one that LibTorch does not read, and for a module
  // that lacks one of `methods` or has it with other arguments.
  static absl::StatusOr<ScriptedModule> Load(const ModelBundle& bundle, const std::string& file,
                                             const std::vector<ScriptedMethod>& methods,
                                             at::Device device);

  // What `method` gives: one tensor of each shape, float32; a tuple if there are several.
  // Throws std::runtime_error, which names the file and what was wrong, for anything else and
  // for what the module itself throws; std::bad_alloc when memory ran out.
  //
  // The code is run as it is.  LibTorch's optimiser would rewrite it after watching the first
  // calls, so a result could depend on how many came before; on a CPU nothing is won by it
  // (six layers of width 512: within the noise of the clock, 1.13).
  std::vector<at::Tensor> Run(const char* method, std::vector<c10::IValue> inputs,
                              const std::vector<WantedShape>& wanted) const;

  const std::string& file() const { return file_; }

 private:
  ScriptedModule(std::string file, torch::jit::Module module)
      : file_(std::move(file)), module_(std::move(module)) {}

  const std::string file_;
  const torch::jit::Module module_;
};

// The line of a TorchScript exception's text that says what happened, without the trace.
std::string ScriptErrorLine(absl::string_view text);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_TORCHSCRIPT_SCRIPTED_MODULE_H_
