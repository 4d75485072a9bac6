#include "tests/common/models/sgraf/tiny.h"

#include <string>

namespace sightline {
namespace {

using bundle::v1::TokenizerSpec;

TinyFamily Make(const std::string& name, bundle::v1::SgrafSpec::Module module, bool emde) {
  TinyFamily family;
  family.name = name;
  family.manifest = TinyManifest("sgraf", TokenizerSpec::WORD_LIST);
  family.vocabulary = TinyWordList();
  family.region_count = 5;
  family.region_order_matters = true;
  bundle::v1::SgrafSpec* spec = family.manifest.mutable_sgraf();
  spec->set_module(module);
  spec->set_word_size(6);
  spec->set_embedding_size(12);
  spec->set_similarity_size(8);
  spec->set_region_feature_size(10);
  spec->set_region_count(5);
  if (module == bundle::v1::SgrafSpec::SGR) spec->set_step_count(3);
  if (emde) {
    spec->mutable_emde()->set_partition_count(3);
    spec->mutable_emde()->set_cell_count(4);
    spec->mutable_emde()->set_cell_size(2);
    // A sketch forgets order, and so does all else without the global node.
    family.region_order_matters = false;
  }
  AddTinyCrossEncoder("sigmoid", &family.manifest);
  return family;
}

}  // namespace

TinyFamily TinySaf() {
  return Make("saf", bundle::v1::SgrafSpec::SAF, /*emde=*/false);
}

TinyFamily TinySgr() {
  return Make("sgr", bundle::v1::SgrafSpec::SGR, /*emde=*/false);
}

TinyFamily TinyTemde() {
  return Make("saf with T-EMDE", bundle::v1::SgrafSpec::SAF, /*emde=*/true);
}

TinyFamily TinyWithoutGlobalNode(bundle::v1::SgrafSpec::Module module) {
  const bool saf = module == bundle::v1::SgrafSpec::SAF;
  TinyFamily family = Make(saf ? "saf without a global node" : "sgr without a global node", module,
                           /*emde=*/false);
  family.manifest.mutable_sgraf()->set_without_global_node(true);
  family.region_order_matters = false;
  return family;
}

std::vector<TinyFamily> sgraf::TinyOnes() {
  return {TinySaf(), TinySgr(), TinyTemde(), TinyWithoutGlobalNode(bundle::v1::SgrafSpec::SAF),
          TinyWithoutGlobalNode(bundle::v1::SgrafSpec::SGR)};
}

}  // namespace sightline
