#include "common/models/torchscript/scripted_module.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/random_access_file.h"
#include "common/base/status_macros.h"
#include "common/models/inference.h"
#include "common/models/inputs/manifest_checks.h"

namespace sightline {
namespace {

constexpr size_t kMaxErrorLength = 300;
// What a zip archive begins with, and so what torch.jit.save writes.  LibTorch would try
// other formats, too.
constexpr char kArchiveStart[] = "PK\x03\x04";

absl::Status CheckStart(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  std::string start(std::min<int64_t>(file->size(), sizeof(kArchiveStart) - 1), '\0');
  RETURN_IF_ERROR(file->Read(0, static_cast<int64_t>(start.size()), start.data()));
  if (start == kArchiveStart) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is no scripted module; torch.jit.save writes those"));
}

absl::Status CheckMethod(const std::string& path, const torch::jit::Module& module,
                         const ScriptedMethod& wanted) {
  const auto method = module.find_method(wanted.name);
  if (!method) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " has no method '", wanted.name, "'",
        std::string(wanted.name) == "forward" ? "" : "; mark it with @torch.jit.export"));
  }
  int required = 0, most = -1;  // without self
  for (const c10::Argument& argument : method->function().getSchema().arguments()) {
    ++most;
    if (!argument.default_value()) ++required;
  }
  required -= 1;
  if (required <= wanted.argument_count && wanted.argument_count <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": method '", wanted.name, "' takes ",
                                                 required, " arguments; it is called with ",
                                                 wanted.argument_count));
}

std::string ShapeText(at::IntArrayRef shape) {
  return absl::StrJoin(shape, " x ", [](std::string* out, int64_t length) {
    absl::StrAppend(out, length == kAnyLength ? std::string("any") : absl::StrCat(length));
  });
}

bool Fits(const at::Tensor& tensor, const WantedShape& wanted) {
  if (tensor.scalar_type() != at::kFloat || tensor.layout() != at::kStrided) return false;
  if (tensor.dim() != static_cast<int64_t>(wanted.size())) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != kAnyLength && tensor.size(i) != wanted[i]) return false;
  }
  return true;
}

std::string WantedText(const std::vector<WantedShape>& wanted) {
  const std::string shapes =
      absl::StrJoin(wanted, " and ", [](std::string* out, const WantedShape& shape) {
        absl::StrAppend(out, "float of ", ShapeText(shape));
      });
  return wanted.size() == 1 ? shapes : absl::StrCat("a tuple of ", shapes);
}

std::string GivenText(const std::vector<at::Tensor>& tensors) {
  return absl::StrJoin(tensors, " and ", [](std::string* out, const at::Tensor& tensor) {
    std::string type = c10::toString(tensor.scalar_type());
    absl::StrAppend(out, absl::AsciiStrToLower(type), " of ", ShapeText(tensor.sizes()));
  });
}

// Empty unless `value` is a tensor or a tuple of tensors.
std::vector<at::Tensor> TensorsOf(const c10::IValue& value) {
  if (value.isTensor()) return {value.toTensor()};
  std::vector<at::Tensor> tensors;
  if (!value.isTuple()) return tensors;
  for (const c10::IValue& element : value.toTupleRef().elements()) {
    if (!element.isTensor()) return {};
    tensors.push_back(element.toTensor());
  }
  return tensors;
}

bool AllFit(const c10::IValue& value, const std::vector<at::Tensor>& tensors,
            const std::vector<WantedShape>& wanted) {
  if (value.isTensor() != (wanted.size() == 1) || tensors.size() != wanted.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!tensors[i].defined() || !Fits(tensors[i], wanted[i])) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<ScriptedModule> ScriptedModule::Load(const ModelBundle& bundle,
                                                    const std::string& file,
                                                    const std::vector<ScriptedMethod>& methods,
                                                    at::Device device) {
  ASSIGN_OR_RETURN(const std::string path, ListedFile(bundle, file));
  RETURN_IF_ERROR(CheckStart(path));
  torch::jit::Module module;
  const absl::Status read = RunGuarded("read", [&] {
    module = torch::jit::load(path, device);
    module.eval();
    return absl::OkStatus();
  });
  if (absl::IsResourceExhausted(read)) return read;
  if (!read.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no scripted module that this LibTorch reads: ",
                     ScriptErrorLine(absl::StripPrefix(read.message(), "read: "))));
  }
  for (const ScriptedMethod& method : methods) {
    RETURN_IF_ERROR(CheckMethod(path, module, method));
  }
  return ScriptedModule(file, std::move(module));
}

std::vector<at::Tensor> ScriptedModule::Run(const char* method, std::vector<c10::IValue> inputs,
                                            const std::vector<WantedShape>& wanted) const {
  const std::string what = absl::StrCat(file_, ", ", method);
  // Of this thread only.
  const torch::jit::GraphOptimizerEnabledGuard as_it_is(false);
  c10::IValue value;
  try {
    value = module_.get_method(method)(std::move(inputs));
  } catch (const std::exception& error) {
    // Inside of a script LibTorch makes one type of error of all.
    const absl::string_view text = error.what();
    const absl::Status status = StatusOfTorch(what, text);
    if (absl::IsResourceExhausted(status)) throw std::bad_alloc();
    if (!absl::IsInternal(status)) throw StatusError(status);
    throw std::runtime_error(absl::StrCat(what, ": ", ScriptErrorLine(text)));
  }
  std::vector<at::Tensor> tensors = TensorsOf(value);
  if (AllFit(value, tensors, wanted)) return tensors;
  throw std::runtime_error(absl::StrCat(
      what, " gave ",
      tensors.empty() ? absl::StrCat("a value of type ", value.tagKind()) : GivenText(tensors),
      ", wanted ", WantedText(wanted)));
}

// The trace comes first, then "RuntimeError: what happened", which may have more lines.
std::string ScriptErrorLine(absl::string_view text) {
  absl::string_view chosen;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const absl::string_view name = line.substr(0, line.find(": "));
    const bool names_error = name.size() < line.size() && !absl::StrContains(name, ' ') &&
                             (absl::EndsWith(name, "Error") || absl::EndsWith(name, "Exception"));
    if (chosen.empty() || names_error) chosen = line;
  }
  return std::string(absl::StripAsciiWhitespace(chosen).substr(0, kMaxErrorLength));
}

}  // namespace sightline
