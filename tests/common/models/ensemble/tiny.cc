#include "tests/common/models/ensemble/tiny.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "tests/common/models/sgraf/tiny.h"

namespace sightline {
namespace {

using bundle::v1::ModelBundleManifest;

template <typename T>
T OrThrow(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

ModelBundle Make(const std::string& store, const TinyFamily&, uint64_t seed) {
  return MakeEnsemble(
      store, {MakeTinyBundle(store, TinySaf(), seed), MakeTinyBundle(store, TinySgr(), seed)});
}

}  // namespace

TinyFamily TinyEnsemble() {
  TinyFamily family;
  family.name = "ensemble";
  family.make = &Make;
  family.manifest.set_family("ensemble");
  AddTinyCrossEncoder("sigmoid", &family.manifest);
  for (const TinyFamily& member : {TinySaf(), TinySgr()}) {
    *family.manifest.add_members() = member.manifest;
    family.region_count = member.region_count;
    family.region_order_matters = member.region_order_matters;
  }
  return family;
}

ModelBundle MakeEnsemble(const std::string& store, const std::vector<ModelBundle>& members) {
  ModelBundleManifest manifest;
  manifest.set_family("ensemble");
  AddTinyCrossEncoder("sigmoid", &manifest);
  std::map<std::string, std::string> files;
  for (size_t i = 0; i < members.size(); ++i) {
    ModelBundleManifest* member = manifest.add_members();
    *member = members[i].manifest;
    member->clear_files();
    member->clear_format_version();
    for (const bundle::v1::BundleFile& file : members[i].manifest.files()) {
      files[absl::StrCat("members/", i, "/", file.path())] =
          OrThrow(ReadFile(members[i].FilePath(file.path())));
    }
  }
  return OrThrow(WriteModelBundle(store, manifest, files));
}

std::vector<TinyFamily> ensemble::TinyOnes() {
  return {TinyEnsemble()};
}

}  // namespace sightline
