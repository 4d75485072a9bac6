#include "common/models/item_encoder.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/batching/run_each.h"
#include "common/embedding/embedding_matrix.h"
#include "common/models/inputs/stored_features.h"

namespace sightline {
namespace {

using Results = std::vector<absl::StatusOr<EmbeddedItem>>;
using Rows = std::vector<std::vector<float>>;

// The rows of `count` items.
absl::StatusOr<Rows> RowsOf(const Model& encoder, size_t count,
                            const absl::StatusOr<EmbeddingMatrix>& encoded) {
  if (!encoded.ok()) return encoded.status();
  const EmbeddingMatrix& matrix = *encoded;
  if (matrix.rows() != static_cast<int64_t>(count) || matrix.dimension() != encoder.dimension()) {
    return absl::InternalError(absl::StrCat(
        "model ", encoder.id(), " gave ", matrix.rows(), " embeddings of ", matrix.dimension(),
        " numbers for ", count, " items; ", encoder.dimension(), " numbers each were expected"));
  }
  Rows rows;
  for (int64_t i = 0; i < matrix.rows(); ++i) {
    rows.emplace_back(matrix.row(i).begin(), matrix.row(i).end());
  }
  return rows;
}

class PictureRun {
 public:
  PictureRun(std::vector<PictureToEncode> pictures, const CallContext& call)
      : pictures_(std::move(pictures)), call_(call), results_(pictures_.size(), EmbeddedItem()) {
    for (size_t i = 0; i < pictures_.size(); ++i) {
      results_[i]->features.resize(pictures_[i].rerankers.size());
    }
  }

  Results Run(const Model& encoder) && {
    FindRegions(encoder, 0, All());
    Step<std::vector<float>>(
        All(),
        [&](absl::Span<const ImageInput> some) {
          return RowsOf(encoder, some.size(), encoder.image_encoder()->Encode(some, call_));
        },
        [&](size_t i, std::vector<float> row) { results_[i]->embedding = std::move(row); });
    // First what needs the regions that the encoder has found: another's then take their place.
    size_t most = 0;
    for (const PictureToEncode& picture : pictures_) {
      most = std::max(most, picture.rerankers.size());
    }
    for (const bool own : {false, true}) {
      for (size_t place = 0; place < most; ++place) PrepareAt(place, own);
    }
    return std::move(results_);
  }

 private:
  using Indexes = std::vector<size_t>;

  template <typename Wanted>
  Indexes Good(const Wanted& wanted) const {
    Indexes good;
    for (size_t i = 0; i < pictures_.size(); ++i) {
      if (results_[i].ok() && wanted(pictures_[i])) good.push_back(i);
    }
    return good;
  }
  Indexes All() const {
    return Good([](const PictureToEncode&) { return true; });
  }

  // Runs the images of `indexes`; what is made of each is for `keep`, and a failure is its result.
  template <typename Result, typename Run, typename Keep>
  void Step(const Indexes& indexes, const Run& run, const Keep& keep) {
    if (indexes.empty()) return;
    std::vector<ImageInput> images;
    for (const size_t i : indexes) images.push_back(std::move(pictures_[i].image));
    Store(indexes, RunEach<Result>(absl::MakeConstSpan(images), run), keep);
    for (size_t j = 0; j < indexes.size(); ++j) pictures_[indexes[j]].image = std::move(images[j]);
  }

  template <typename Result, typename Keep>
  void Store(const Indexes& indexes, std::vector<absl::StatusOr<Result>> made, const Keep& keep) {
    for (size_t j = 0; j < indexes.size(); ++j) {
      if (made[j].ok()) {
        keep(indexes[j], *std::move(made[j]));
      } else {
        results_[indexes[j]] = made[j].status();
      }
    }
  }

  // Those that `model` finds in the pixels at `place`, which are given up.
  void FindRegions(const Model& model, size_t place, const Indexes& among) {
    Indexes indexes;
    std::vector<Pixels> pixels;
    for (const size_t i : among) {
      std::vector<std::shared_ptr<const Pixels>>& seen = pictures_[i].pixels;
      if (place >= seen.size() || seen[place] == nullptr) continue;
      indexes.push_back(i);
      pixels.push_back(*seen[place]);  // a copy: another may be waiting for the same
      seen[place] = nullptr;
    }
    if (indexes.empty()) return;
    std::vector<absl::StatusOr<RegionSet>> found =
        RunEach<RegionSet>(absl::MakeConstSpan(pixels), [&](absl::Span<const Pixels> some) {
          return model.region_extractor()->Extract(some, call_);
        });
    Store(indexes, std::move(found),
          [&](size_t i, RegionSet regions) { pictures_[i].image.regions = std::move(regions); });
  }

  // Features for the rerankers at `place`, of those pictures in which they do, or do not, find
  // regions of their own.
  void PrepareAt(size_t place, bool own) {
    const auto is_wanted = [&](const PictureToEncode& picture) {
      return place < picture.rerankers.size() &&
             own == (place + 1 < picture.pixels.size() && picture.pixels[place + 1] != nullptr);
    };
    Indexes wanted = Good(is_wanted);
    while (!wanted.empty()) {
      const Model* const reranker = pictures_[wanted[0]].rerankers[place];
      const auto others = std::stable_partition(wanted.begin(), wanted.end(), [&](size_t i) {
        return pictures_[i].rerankers[place] == reranker;
      });
      Prepare(*reranker, place, {wanted.begin(), others});
      wanted.erase(wanted.begin(), others);
    }
  }

  void Prepare(const Model& reranker, size_t place, Indexes indexes) {
    FindRegions(reranker, place + 1, indexes);
    indexes.erase(
        std::remove_if(indexes.begin(), indexes.end(), [&](size_t i) { return !results_[i].ok(); }),
        indexes.end());
    Step<ItemFeatures>(
        indexes,
        [&](absl::Span<const ImageInput> some) {
          return reranker.cross_encoder()->PrepareImages(some, call_);
        },
        [&](size_t i, ItemFeatures made) { Keep(i, place, std::move(made)); });
  }

  void Keep(size_t i, size_t place, ItemFeatures made) {
    absl::StatusOr<ItemFeatures> stored = StoredAs(pictures_[i].feature_dtype, std::move(made));
    if (stored.ok()) {
      results_[i]->features[place] = *std::move(stored);
    } else {
      results_[i] = stored.status();
    }
  }

  std::vector<PictureToEncode> pictures_;
  const CallContext call_;
  Results results_;
};

}  // namespace

std::vector<absl::StatusOr<std::vector<float>>> EncodeTexts(const Model& encoder,
                                                            absl::Span<const Tokens> texts,
                                                            const CallContext& call) {
  return RunEach<std::vector<float>>(texts, [&](absl::Span<const Tokens> some) {
    return RowsOf(encoder, some.size(), encoder.text_encoder()->Encode(some, call));
  });
}

absl::StatusOr<ItemFeatures> TextFeaturesFor(const Model& reranker, const Model& encoder,
                                             const Tokens& tokens, absl::string_view text) {
  if (&reranker != &encoder) return TextFeatures(reranker, text);
  return reranker.cross_encoder()->PrepareText(tokens);
}

std::vector<const RegionExtractor*> PictureExtractors(const Model& encoder,
                                                      absl::Span<const Model* const> rerankers) {
  std::vector<const RegionExtractor*> extractors = {encoder.region_extractor()};
  for (const Model* reranker : rerankers) {
    extractors.push_back(reranker == &encoder ? nullptr : reranker->region_extractor());
  }
  return extractors;
}

std::vector<absl::StatusOr<EmbeddedItem>> EncodePictures(const Model& encoder,
                                                         std::vector<PictureToEncode> pictures,
                                                         const CallContext& call) {
  return PictureRun(std::move(pictures), call).Run(encoder);
}

}  // namespace sightline
