// SGRAF, with and without T-EMDE: what its checkpoints become.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/models/convert/convert.h"
#include "tests/common/models/convert/checkpoints.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

using absl::StrContains;
using bundle::v1::TokenizerSpec;

TEST_CASE("SGRAF's list of three dicts is what the golden folders hold flat") {
  for (const std::string name : {"saf", "sgr", "saf_temde", "sgr_temde"}) {
    INFO(name);
    Workplace place(name, 60);
    place.options.checkpoint = GoldenFolder(name);
    const Conversion conversion = place.MustConvert();
    const std::string id = place.MustWrite();
    const bundle::v1::SgrafSpec& spec = conversion.manifest.sgraf();
    REQUIRE(spec.module() == (absl::StartsWith(name, "saf") ? bundle::v1::SgrafSpec::SAF
                                                            : bundle::v1::SgrafSpec::SGR));
    REQUIRE(spec.vocabulary_size() == 60);
    REQUIRE(spec.word_size() == 20);
    REQUIRE(spec.embedding_size() == 32);
    REQUIRE(spec.similarity_size() == 16);
    REQUIRE(spec.region_feature_size() == 40);
    REQUIRE(spec.region_count() == 36);
    REQUIRE(spec.step_count() == (absl::StartsWith(name, "saf") ? 0 : 3));
    REQUIRE(spec.has_emde() == absl::EndsWith(name, "temde"));
    if (spec.has_emde()) {
      REQUIRE(spec.emde().partition_count() == 4);
      REQUIRE(spec.emde().cell_count() == 8);
      REQUIRE(spec.emde().cell_size() == 8);
    }
    REQUIRE(conversion.manifest.cross_encoder().score_kind() == "sigmoid");
    REQUIRE(conversion.manifest.tokenizer().kind() == TokenizerSpec::WORD_LIST);
    for (const auto& [tensor, view] : conversion.tensors) {
      REQUIRE_FALSE(absl::EndsWith(tensor, "num_batches_tracked"));
    }

    const MutableCheckpoint checkpoint(name);
    TorchFileBuilder file;
    std::vector<std::string> parts;
    for (const char* prefix : {"img_enc.", "txt_enc.", "sim_enc."}) {
      parts.push_back(pickle::OrderedDict(checkpoint.Items(&file, prefix)));
    }
    const std::string root = pickle::Dict({{"epoch", pickle::Int(1)},
                                           {"model", pickle::List(parts)},
                                           {"opt", pickle::Namespace({{"k", "N"}})}});
    place.options.checkpoint = place.dir.File("model.pt");
    REQUIRE(WriteFileAtomically(place.options.checkpoint, file.Build(root)).ok());
    REQUIRE(place.MustWrite() == id);
  }
}

TEST_CASE("a T-EMDE's cells are told, or the paper's") {
  Workplace place("saf", 60);  // its config tells none
  MutableCheckpoint("saf_temde").SavePickle(place.options.checkpoint);
  const Conversion usual = place.MustConvert();
  REQUIRE(usual.manifest.sgraf().emde().cell_count() == 8);
  REQUIRE(StrContains(usual.warnings[0], "--cells"));
  place.options.cell_count = 16;
  REQUIRE(place.MustConvert().manifest.sgraf().emde().partition_count() == 2);
  place.options.cell_count = 7;
  REQUIRE(StrContains(place.Refusal(), "7 cells"));
}

TEST_CASE("a T-EMDE's temperature may be a scalar") {
  Workplace place("saf_temde", 60);
  MutableCheckpoint checkpoint("saf_temde");
  checkpoint.SavePickle(place.options.checkpoint);
  const std::string id = place.MustWrite();
  for (const char* side : {"t", "v"}) {
    checkpoint.tensors.at(absl::StrCat("sim_enc.", side, "_emde.coder.temp")).shape.clear();
  }
  checkpoint.SavePickle(place.options.checkpoint);
  REQUIRE(place.MustWrite() == id);
  checkpoint.Add("sim_enc.t_emde.coder.temp", {2});
  checkpoint.SavePickle(place.options.checkpoint);
  REQUIRE(StrContains(place.Refusal(), "sim_enc.t_emde.coder.temp [2] instead of [1]"));
}

TEST_CASE("statistics of batch norms must be there") {
  Workplace place("saf", 60);
  MutableCheckpoint checkpoint("saf");
  checkpoint.Erase("sim_enc.SAF_module.bn.running_mean");
  checkpoint.SavePickle(place.options.checkpoint);
  REQUIRE(StrContains(place.Refusal(), "missing: sim_enc.SAF_module.bn.running_mean [1]"));
}

}  // namespace
}  // namespace sightline
