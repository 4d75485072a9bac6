#include "common/training/pair_sampler.h"

#include <numeric>
#include <unordered_map>

#include "common/training/draw_fitting.h"

namespace sightline {
namespace {

std::vector<int64_t> Iota(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

// Numbers in the order in which they were first named, and each one's place.
class Places {
 public:
  explicit Places(std::vector<int64_t>* numbers) : numbers_(*numbers) {}
  int64_t Of(int64_t number) {
    const auto [found, is_new] = places_.emplace(number, static_cast<int64_t>(numbers_.size()));
    if (is_new) numbers_.push_back(number);
    return found->second;
  }

 private:
  std::vector<int64_t>& numbers_;
  std::unordered_map<int64_t, int64_t> places_;
};

}  // namespace

PairSampler::PairSampler(const PairCorpus* corpus, EpochUnit unit, uint64_t seed)
    : corpus_(*corpus),
      unit_(unit),
      seed_(seed),
      all_pictures_(Iota(corpus->picture_count())),
      all_captions_(Iota(corpus->caption_count())) {}

int64_t PairSampler::epoch_size() const {
  return unit_ == EpochUnit::kCaptions ? corpus_.caption_count() : corpus_.picture_count();
}

int64_t PairSampler::ItemAt(int64_t place) {
  const int64_t epoch = place / epoch_size();
  if (epoch != epoch_) {
    order_ = Iota(epoch_size());
    Random random(SeedOf(seed_, RandomStream::kBiOrder, epoch));
    random.ShuffleFirst(epoch_size(), &order_);
    epoch_ = epoch;
  }
  return order_[place % epoch_size()];
}

std::pair<int64_t, int64_t> PairSampler::PairOf(int64_t item, Random* random) const {
  if (unit_ == EpochUnit::kCaptions) return {item, corpus_.picture_of(item)};
  return {corpus_.first_caption(item) + random->Below(corpus_.caption_count(item)), item};
}

DrawnBatch PairSampler::Batch(int64_t step, int64_t size) {
  DrawnBatch batch;
  Random random(SeedOf(seed_, RandomStream::kBiBatch, step));
  for (int64_t place = step * size; place < (step + 1) * size; ++place) {
    const auto [caption, picture] = PairOf(ItemAt(place), &random);
    batch.captions.push_back(caption);
    batch.pictures.push_back(picture);
  }
  return batch;
}

int64_t PairSampler::WrongPicture(int64_t caption, Random* random) const {
  const auto is_wrong = [&](int64_t picture) { return !corpus_.MayBeRight(caption, picture); };
  return *DrawFitting<int64_t>(all_pictures_, is_wrong, random);
}

int64_t PairSampler::WrongCaption(int64_t picture, Random* random) const {
  const auto is_wrong = [&](int64_t caption) { return !corpus_.MayBeRight(caption, picture); };
  return *DrawFitting<int64_t>(all_captions_, is_wrong, random);
}

DrawnProblems PairSampler::Problems(int64_t step, int64_t problems, int64_t candidates,
                                    WrongSides sides, double text_negatives) {
  DrawnProblems drawn;
  Places captions(&drawn.batch.captions), pictures(&drawn.batch.pictures);
  Random random(SeedOf(seed_, RandomStream::kCrossBatch, step));
  for (int64_t place = step * problems; place < (step + 1) * problems; ++place) {
    const auto [caption, picture] = PairOf(ItemAt(place), &random);
    drawn.pairs.emplace_back(captions.Of(caption), pictures.Of(picture));
    const bool wrong_captions = random.Chance(text_negatives);
    for (int64_t i = 1; i < candidates; ++i) {
      if (sides == WrongSides::kOne ? wrong_captions : i % 2 == 0) {
        drawn.pairs.emplace_back(captions.Of(WrongCaption(picture, &random)), pictures.Of(picture));
      } else {
        drawn.pairs.emplace_back(captions.Of(caption), pictures.Of(WrongPicture(caption, &random)));
      }
    }
  }
  return drawn;
}

std::vector<uint8_t> PairSampler::Related(const DrawnBatch& batch) const {
  const size_t size = batch.captions.size();
  std::vector<uint8_t> related(size * size, 0);
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) {
      related[i * size + j] =
          i != j && corpus_.MayBeRight(batch.captions[i], batch.pictures[j]) ? 1 : 0;
    }
  }
  return related;
}

}  // namespace sightline
