// One unit through the models: pictures and captions to embeddings and item features.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_ENCODER_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_ENCODER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/base/dtype.h"
#include "common/bundle/feature_dtype.h"
#include "common/models/model.h"
#include "services/corpus_encoder/decoder_pool.h"
#include "services/corpus_encoder/unit_file.h"
#include "services/corpus_encoder/work_units.h"

namespace sightline {

// What encodes a corpus.
struct CorpusModels {
  struct Reranker {
    std::string name;
    std::shared_ptr<const Model> model;  // often the encoder itself
  };
  std::shared_ptr<const Model> encoder;
  std::vector<Reranker> rerankers;             // whose features items get, the default first
  Dtype feature_dtype = kDefaultFeatureDtype;  // of pictures

  std::vector<const Model*> reranker_models() const;
};

// `rerankers`, or the encoder itself if there are none and the encoder can rerank.
CorpusModels MakeCorpusModels(std::shared_ptr<const Model> encoder,
                              std::vector<CorpusModels::Reranker> rerankers);

// FailedPrecondition, saying what is missing, unless the encoder can encode texts and
// images and the rerankers can rerank.  Whether they can read what the corpora
// hold is CheckModelReads'.
absl::Status CheckModelsForCorpus(const CorpusModels& models);

// Encodes the pictures that were decoded and the captions in `language` of those; all in
// batches of this unit alone.  `pictures` are those of the unit, in order, decoded for the
// PictureExtractors of these models.
//
// A picture that has a problem, that a model refuses, or to which it gives an embedding that
// is zero or not finite, is rejected for it and takes its captions along; a caption that a model
// refuses, or whose embedding is bad, is rejected alone.  (When the model is to blame, nearly all
// are bad, and the share that may be ends the job.)  Internal for embeddings of another number or
// length than they should be.  Otherwise what the model returned.
absl::StatusOr<UnitResult> EncodeUnit(const CorpusModels& models, const WorkUnit& unit,
                                      std::vector<DecodedPicture> pictures,
                                      absl::string_view language, const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_UNIT_ENCODER_H_
