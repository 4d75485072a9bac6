#include "tests/common/models/torchscript/tiny.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "tests/common/models/torchscript/tiny_scripts.h"

namespace sightline {
namespace {

ModelBundle Make(const std::string& store, const TinyFamily& family, uint64_t) {
  TinyScripts scripts;
  scripts.manifest = family.manifest;
  auto bundle = scripts.Bundle(store);
  if (!bundle.ok()) throw std::runtime_error(bundle.status().ToString());
  return *std::move(bundle);
}

}  // namespace

TinyFamily TinyTorchScript() {
  const TinyScripts scripts;
  return {"torchscript", scripts.manifest, scripts.vocabulary, 0, false, &Make};
}

std::vector<TinyFamily> torchscript::TinyOnes() {
  return {TinyTorchScript()};
}

}  // namespace sightline
