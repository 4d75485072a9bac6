#include "services/corpus_encoder/job_hashes.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "services/corpus_encoder/field_hash.h"
#include "services/corpus_encoder/quarantine.h"

namespace sightline {
namespace {

// What was made before there was a choice has the default.
void AddIndexWish(const CorpusEncoderOptions& options, FieldHash& hash) {
  if (!options.index.is_empty()) hash.Add(options.index.Text());
}

// Likewise.
void AddVectorDtype(const CorpusEncoderOptions& options, FieldHash& hash) {
  if (options.vector_dtype != kDefaultVectorDtype) hash.Add(DtypeName(options.vector_dtype));
}

}  // namespace

UnitContext ContextOf(const CorpusModels& models, const CorpusEncoderOptions& options,
                      absl::Duration max_decode_time) {
  UnitContext context;
  context.encoder = models.encoder->id();
  for (const CorpusModels::Reranker& reranker : models.rerankers) {
    context.rerankers.push_back({reranker.name, reranker.model->id()});
  }
  context.feature_dtype = options.feature_dtype;
  context.deterministic = options.deterministic;
  context.precision = options.precision.precision;
  context.limits = options.limits;
  context.max_decode_time = max_decode_time;
  context.caption_language = options.caption_language;
  return context;
}

std::string JobHash(const CorpusEncoderOptions& options, const UnitContext& context) {
  FieldHash hash;
  hash.Add("sightline job 2");
  hash.AddNumber(options.share.workers);
  hash.Add(options.corpora);
  hash.Add(options.captions_index);
  hash.Add(options.generation);
  hash.Add(options.base);
  hash.AddNumber(options.shard_count);
  hash.AddNumber(options.unit_size);
  hash.Add(absl::StrCat(options.recall_floor));
  // A caption's hash begins with the whole context, but for what rerankers are called.
  hash.Add(CaptionContentHash(CaptionItem(), context));
  hash.Add(RerankersText(context.rerankers));
  hash.Add(context.caption_language);
  AddVectorDtype(options, hash);
  AddIndexWish(options, hash);
  return hash.Hex();
}

absl::StatusOr<std::string> ContentHash(CorpusScan& scan, const CorpusEncoderOptions& options,
                                        const std::string& space, const UnitContext& context,
                                        WorkTally& tally, const CallContext& call) {
  FieldHash hash;
  hash.Add("sightline corpus 3");
  hash.AddNumber(options.shard_count);
  hash.AddNumber(options.unit_size);
  hash.Add(space);
  hash.Add(context.encoder);
  hash.Add(RerankersText(context.rerankers));
  hash.Add(absl::StrCat(options.recall_floor));
  AddVectorDtype(options, hash);
  AddIndexWish(options, hash);
  PictureSpool::Reader reader(scan.pictures);
  for (ScannedPicture picture;;) {
    RETURN_IF_ERROR(call.Check("hashing the corpus"));
    ASSIGN_OR_RETURN(const bool more, reader.Next(&picture));
    if (!more) break;
    tally.NoteItem();
    hash.Add(ImageContentHash(picture, context));
    for (const CaptionItem& caption : CaptionItemsOf(picture.item, context.caption_language)) {
      hash.Add(CaptionContentHash(caption, context));
    }
    // What the records hold beyond that.
    hash.Add(picture.item.path);
    hash.AddNumber(static_cast<int64_t>(picture.item.tags.size()));
    for (const std::string& tag : picture.item.tags) hash.Add(tag);
  }
  int64_t ledger_bytes = 0;
  RETURN_IF_ERROR(scan.quarantine.VisitAll([&](const CorpusProblem& problem) {
    ledger_bytes += static_cast<int64_t>(ProblemJsonLine(problem).size());
    return absl::OkStatus();
  }));
  hash.BeginField(ledger_bytes);
  RETURN_IF_ERROR(scan.quarantine.VisitAll([&](const CorpusProblem& problem) {
    hash.AddToField(ProblemJsonLine(problem));
    return absl::OkStatus();
  }));
  return hash.Hex();
}

}  // namespace sightline
