// A model without a network, for the engines that serve one.
//
// Everything is made of words: a text is its words' ids, a region is one word (its three
// features are the bytes of the id), a picture is the one word of its first pixel.  The
// embedding follows from the ids alone, and so does the score of a pair, so a test
// computes what must come out by itself.
//
//   auto model = std::make_shared<FakeServingModel>();
//   Gate entered, release;
//   model->HoldNextBatch(&entered, &release);   // the next Encode or Score stops there
#ifndef SIGHTLINE_TESTS_SUPPORT_FAKE_MODEL_H_
#define SIGHTLINE_TESTS_SUPPORT_FAKE_MODEL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/models/model.h"
#include "tests/support/gate.h"

namespace sightline {

using WordIds = std::vector<int32_t>;

// Of each word, in order; 0 to 2^24 - 1.
WordIds IdsOf(absl::string_view text);
// Of length one, of FakeServingModel::kDimension.
std::vector<float> EmbeddingOf(const WordIds& ids);
// In [0, 1); has nothing to do with the embeddings.
float PairScoreOf(const WordIds& text, const WordIds& image);
// An image whose regions are these words.
ImageInput ImageOf(const WordIds& ids);
ItemFeatures TextFeaturesOf(const WordIds& ids);
ItemFeatures ImageFeaturesOf(const WordIds& ids);
// A picture of one colour, which is one word.
Pixels PictureOf(int32_t id, int width, int height);

struct FakeServingModelOptions {
  std::string id = std::string(64, 'a');
  std::string space = std::string(64, 'e');
  bool texts = true;
  bool images = true;
  bool pictures = true;    // has a RegionExtractor
  int classes = 0;         // that the extractor knows; it is sure of the word modulo so many
  bool pairs = true;       // has a CrossEncoder
  int reduced_width = 1;   // of the pictures that Extract wants
  int32_t tint = 0;        // what is found in a picture is its colour, XORed with this
  std::string refused;     // a text with it is none; empty: no text is
  bool contrary = false;   // scores a pair with 1 - PairScoreOf
  bool fractions = false;  // an image's features have its words as fractions, too: tensor
                           // "fractions", a row
};

// A word that passes Tokenize and then fails the whole batch that it is
// in, with InvalidArgument; one that fails it with Internal; and one as a device that fails does.
inline constexpr char kPoison[] = "poison";
inline constexpr char kBreakdown[] = "breakdown";
inline constexpr char kDeviceFailure[] = "devicefailure";

// Thread-safe.
class FakeServingModel : public Model {
 public:
  static constexpr int kDimension = 8;

  explicit FakeServingModel(FakeServingModelOptions options = {});
  ~FakeServingModel() override;

  absl::StatusOr<Tokens> Tokenize(absl::string_view text) const override;
  const TextEncoder* text_encoder() const override;
  const ImageEncoder* image_encoder() const override;
  const CrossEncoder* cross_encoder() const override;
  const RegionExtractor* region_extractor() const override;
  std::vector<int> region_feature_sizes() const override { return {3}; }
  const std::string& id() const override { return options_.id; }
  const std::string& space() const override { return options_.space; }
  int dimension() const override { return kDimension; }

  // The next batch of any kind opens `entered` and waits for `release`.
  void HoldNextBatch(Gate* entered, Gate* release);

  // Sizes of the batches so far, those that failed included.
  std::vector<int> text_batches() const;
  std::vector<int> image_batches() const;
  std::vector<int> pair_batches() const;
  // Of the pictures that Extract was given.
  std::vector<int> extracted_widths() const;
  // Texts that Tokenize was given.
  int tokenized() const { return tokenized_; }

 private:
  struct Texts;
  struct Images;
  struct Extractor;
  struct Pairs;

  enum Kind { kTexts, kImages, kPairs, kKinds };

  void Enter(Kind kind, size_t size) const EXCLUDES(mutex_);
  std::vector<int> Batches(Kind kind) const EXCLUDES(mutex_);

  const FakeServingModelOptions options_;
  std::unique_ptr<Texts> texts_;
  std::unique_ptr<Images> images_;
  std::unique_ptr<Extractor> extractor_;
  std::unique_ptr<Pairs> pairs_;

  mutable std::atomic<int> tokenized_{0};
  mutable Mutex mutex_;
  mutable Gate* entered_ GUARDED_BY(mutex_) = nullptr;
  mutable Gate* release_ GUARDED_BY(mutex_) = nullptr;
  mutable std::array<std::vector<int>, kKinds> batches_ GUARDED_BY(mutex_);
  mutable std::vector<int> widths_ GUARDED_BY(mutex_);
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_FAKE_MODEL_H_
