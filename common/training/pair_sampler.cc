#include "common/training/pair_sampler.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "common/training/draw_fitting.h"

namespace sightline {
namespace {

std::vector<int64_t> Iota(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

// Those of an epoch.
std::vector<int64_t> ItemsOf(const PairCorpus& corpus, const PairDraws& draws) {
  const bool captions = draws.unit == EpochUnit::kCaptions;
  std::vector<int64_t> items = Iota(captions ? corpus.caption_count() : corpus.picture_count());
  if (draws.wanted == nullptr) return items;
  const auto unwanted = [&](int64_t item) {
    return !draws.wanted(captions ? corpus.picture_of(item) : item);
  };
  items.erase(std::remove_if(items.begin(), items.end(), unwanted), items.end());
  return items;
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

// At most `count` of them, drawn evenly, in random order.
std::vector<int64_t> SomeOf(absl::Span<const int64_t> all, int64_t count, Random* random) {
  std::vector<int64_t> some(all.begin(), all.end());
  random->ShuffleFirst(count, &some);
  if (static_cast<int64_t>(some.size()) > count) some.resize(count);
  return some;
}

}  // namespace

std::vector<CaptionedPicture> DrawnProblems::Captioned() const {
  std::vector<CaptionedPicture> captioned;
  for (const auto& [caption, picture] : pairs) {
    captioned.emplace_back(batch.captions[caption], batch.pictures[picture]);
  }
  return captioned;
}

DrawnProblems ProblemsOf(const std::vector<CaptionedPicture>& pairs) {
  DrawnProblems problems;
  Places captions(&problems.batch.captions), pictures(&problems.batch.pictures);
  for (const auto& [caption, picture] : pairs) {
    problems.pairs.emplace_back(captions.Of(caption), pictures.Of(picture));
  }
  return problems;
}

PairSampler::PairSampler(const PairCorpus* corpus, const PairDraws& draws, uint64_t seed)
    : corpus_(*corpus),
      unit_(draws.unit),
      seed_(seed),
      all_pictures_(Iota(corpus->picture_count())),
      all_captions_(Iota(corpus->caption_count())),
      items_(ItemsOf(*corpus, draws)) {
  if (draws.batch_rows > 0) MakeRowBatches(draws);
}

// A picture has as many rows as with its longest caption, whichever is drawn, so that batches do
// not depend on the draw.
void PairSampler::MakeRowBatches(const PairDraws& draws) {
  std::vector<int64_t> lengths;
  for (const int64_t item : items_) {
    if (unit_ == EpochUnit::kCaptions) {
      lengths.push_back(draws.rows(item));
      continue;
    }
    int64_t longest = 0;
    for (int64_t i = 0; i < corpus_.caption_count(item); ++i) {
      longest = std::max(longest, draws.rows(corpus_.first_caption(item) + i));
    }
    lengths.push_back(longest);
  }
  row_batches_ = std::make_unique<RowBatches>(lengths, draws.batch_rows, seed_);
}

int64_t PairSampler::epoch_size() const {
  return static_cast<int64_t>(items_.size());
}

int64_t PairSampler::ItemAt(int64_t place) {
  const int64_t epoch = place / epoch_size();
  if (epoch != epoch_) {
    order_ = Iota(epoch_size());
    Random random(SeedOf(seed_, RandomStream::kBiOrder, epoch));
    random.ShuffleFirst(epoch_size(), &order_);
    epoch_ = epoch;
  }
  return items_[order_[place % epoch_size()]];
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

DrawnBatch PairSampler::BatchOfRows(int64_t step) {
  DrawnBatch batch;
  Random random(SeedOf(seed_, RandomStream::kBiBatch, step));
  for (const int64_t item : row_batches_->Batch(step)) {
    const auto [caption, picture] = PairOf(items_[item], &random);
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

void PairSampler::AddNearest(int64_t step, int64_t count, const NearestWrong& mined,
                             DrawnBatch* batch) const {
  Random random(SeedOf(seed_, RandomStream::kNearest, step));
  std::unordered_set<int64_t> shown(batch->pictures.begin(), batch->pictures.end());
  for (const int64_t caption : batch->captions) {
    for (const int64_t picture : SomeOf(mined.PicturesOf(caption), count, &random)) {
      if (shown.insert(picture).second) batch->pictures.push_back(picture);
    }
  }
}

std::vector<int64_t> PairSampler::NearestCaptions(int64_t step, int64_t count,
                                                  const NearestWrong& mined,
                                                  const DrawnBatch& batch) const {
  const auto own = absl::MakeConstSpan(batch.pictures).subspan(0, batch.captions.size());
  const auto is_wrong = [&](int64_t caption) {
    return std::none_of(own.begin(), own.end(),
                        [&](int64_t picture) { return corpus_.MayBeRight(caption, picture); });
  };
  // Whatever pictures drew, which come first.
  Random random(SeedOf(SeedOf(seed_, RandomStream::kNearest, step), RandomStream::kNearest, 1));
  std::unordered_set<int64_t> seen(batch.captions.begin(), batch.captions.end());
  std::vector<int64_t> captions;
  for (const int64_t picture : own) {
    for (const int64_t caption : SomeOf(mined.CaptionsOf(picture), count, &random)) {
      if (seen.insert(caption).second && is_wrong(caption)) captions.push_back(caption);
    }
  }
  return captions;
}

void PairSampler::AddProblem(CaptionedPicture right, bool wrong_captions, const ProblemDraws& draws,
                             Random* random, std::vector<CaptionedPicture>* pairs) const {
  const auto [caption, picture] = right;
  std::vector<int64_t> pictures, captions;  // the nearest ones; the last is shown next
  if (draws.nearest > 0) {
    pictures = SomeOf(draws.mined->PicturesOf(caption), draws.nearest, random);
    captions = SomeOf(draws.mined->CaptionsOf(picture), draws.nearest, random);
  }
  pairs->push_back(right);
  for (int64_t i = 1; i < draws.candidates; ++i) {
    const bool of_picture = draws.sides == WrongSides::kInTurn ? i % 2 == 0 : wrong_captions;
    std::vector<int64_t>& nearest = of_picture ? captions : pictures;
    int64_t wrong = 0;
    if (i <= draws.nearest && !nearest.empty()) {
      wrong = nearest.back();
      nearest.pop_back();
    } else {
      wrong = of_picture ? WrongCaption(picture, random) : WrongPicture(caption, random);
    }
    pairs->push_back(of_picture ? CaptionedPicture(wrong, picture)
                                : CaptionedPicture(caption, wrong));
  }
}

DrawnProblems PairSampler::Problems(int64_t step, int64_t problems, const ProblemDraws& draws) {
  std::vector<CaptionedPicture> pairs;
  Random random(SeedOf(seed_, RandomStream::kCrossBatch, step));
  for (int64_t place = step * problems; place < (step + 1) * problems; ++place) {
    const CaptionedPicture right = PairOf(ItemAt(place), &random);
    const bool drawn = random.Chance(draws.text_negatives);
    AddProblem(right, draws.sides == WrongSides::kByProblem ? place % 2 == 0 : drawn, draws,
               &random, &pairs);
  }
  return ProblemsOf(pairs);
}

std::vector<uint8_t> PairSampler::Related(const DrawnBatch& batch) const {
  const size_t captions = batch.captions.size(), pictures = batch.pictures.size();
  std::vector<uint8_t> related(captions * pictures, 0);
  for (size_t i = 0; i < captions; ++i) {
    for (size_t j = 0; j < pictures; ++j) {
      related[i * pictures + j] =
          i != j && corpus_.MayBeRight(batch.captions[i], batch.pictures[j]) ? 1 : 0;
    }
  }
  return related;
}

}  // namespace sightline
