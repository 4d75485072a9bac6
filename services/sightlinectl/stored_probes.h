// Probes of a model (common/bundle/model_probes.h) out of what a store holds.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_STORED_PROBES_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_STORED_PROBES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/bundle/model_bundle.h"
#include "common/evaluation/questions.h"
#include "sightline/bundle/v1/model_probes.pb.h"

namespace sightline {

struct ProbeChoice {
  // Empty: captions stored with the items are the texts, and mean the items that have them.
  std::vector<Question> questions;
  int text_count = 24;  // at most
  int item_count = 40;  // at most; those that texts mean come first, others fill up
};

// Of `model` and the current generation of `index`, which holds pictures: embeddings if the model
// embeds, item features as they are stored if it reranks.  Texts and items are taken evenly over
// all that there are, so that equal stores give equal probes; items are in the order of their ids.
//
// FailedPrecondition, with what to do: the index holds captions, the generation was not encoded
// with this model, or there are too few texts or items for probes.  NotFound: no such index, or it
// was never published.  Otherwise the errors of reading a generation.
absl::StatusOr<bundle::v1::ModelProbes> GatherProbes(const std::string& store,
                                                     const std::string& index,
                                                     const ModelBundle& model,
                                                     const ProbeChoice& choice);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_STORED_PROBES_H_
