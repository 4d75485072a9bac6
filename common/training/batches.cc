#include "common/training/batches.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "common/training/draw_fitting.h"

namespace sightline {
namespace {

bool Contains(const std::vector<int64_t>& values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

int64_t StepsPerEpoch(int64_t rows, int64_t batch) {
  return (rows + batch - 1) / batch;
}

}  // namespace

std::vector<int32_t> DropTokens(absl::Span<const int32_t> tokens, double dropout, Random* random) {
  if (tokens.size() <= 3) return {tokens.begin(), tokens.end()};
  const absl::Span<const int32_t> words = tokens.subspan(1, tokens.size() - 2);
  std::vector<int32_t> kept = {tokens.front()};
  for (const int32_t word : words) {
    if (!random->Chance(dropout)) kept.push_back(word);
  }
  if (kept.size() == 1) kept.push_back(words[random->Below(words.size())]);
  kept.push_back(tokens.back());
  return kept;
}

BatchSampler::BatchSampler(const TrainingSet* set, const TrainingRows* rows,
                           const TrainingOptions* options)
    : set_(*set), rows_(*rows), options_(*options) {
  const int64_t count = static_cast<int64_t>(rows_.captioned().size());
  text_steps_per_epoch_ =
      std::max<int64_t>(1, StepsPerEpoch(set_.concept_count(), options_.text.batch_size));
  bi_steps_per_epoch_ = StepsPerEpoch(count, options_.bi.batch_size);
  cross_steps_per_epoch_ = StepsPerEpoch(count, options_.joint.queries);
}

int64_t BatchSampler::negatives() const {
  return options_.joint.loss == CrossLoss::kPairwise ? 1 : options_.joint.negatives;
}

std::vector<int64_t> BatchSampler::Slice(std::vector<int64_t> all, int64_t step,
                                         int64_t steps_per_epoch, RandomStream order) const {
  const int64_t count = static_cast<int64_t>(all.size());
  Random random(SeedOf(options_.seed, order, step / steps_per_epoch));
  random.ShuffleFirst(count, &all);
  const int64_t part = step % steps_per_epoch;
  return std::vector<int64_t>(all.begin() + count * part / steps_per_epoch,
                              all.begin() + count * (part + 1) / steps_per_epoch);
}

int64_t BatchSampler::PickCaption(int64_t row, Random* random) const {
  const IndexRange captions = set_.captions(row);
  // Languages never fall within a row, so those of the first language come first.
  int64_t native = 0;
  while (native < captions.size() && set_.language(captions[native]) == 0) ++native;
  const bool other_language = random->Chance(options_.captions.other_language);
  const bool first = random->Chance(options_.captions.first);
  if (native == captions.size() || (native > 0 && !other_language)) {
    if (first || native == 1) return captions[0];
    return captions[1 + random->Below(native - 1)];
  }
  return captions[native + random->Below(captions.size() - native)];
}

BiBatch BatchSampler::Bi(int64_t step) const {
  BiBatch batch;
  batch.rows = Slice(rows_.captioned(), step, bi_steps_per_epoch_, RandomStream::kBiOrder);
  Random random(SeedOf(options_.seed, RandomStream::kBiBatch, step));
  for (const int64_t row : batch.rows) batch.captions.push_back(PickCaption(row, &random));
  const int64_t count = static_cast<int64_t>(batch.rows.size());

  std::vector<int64_t> sorted = batch.rows;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> rest;
  std::set_difference(rows_.pictured().begin(), rows_.pictured().end(), sorted.begin(),
                      sorted.end(), std::back_inserter(rest));
  const int64_t more = std::min<int64_t>(options_.bi.distractors, rest.size());
  random.ShuffleFirst(more, &rest);
  batch.rows.insert(batch.rows.end(), rest.begin(), rest.begin() + more);

  const int64_t pictures = static_cast<int64_t>(batch.rows.size());
  batch.related.assign(count * pictures, 0);
  for (int64_t i = 0; i < count; ++i) {
    if (rows_.relatives(batch.rows[i]).empty()) continue;
    for (int64_t j = 0; j < pictures; ++j) {
      batch.related[i * pictures + j] = i != j && rows_.Related(batch.rows[i], batch.rows[j]);
    }
  }
  return batch;
}

// Texts are compared by their tokens: nothing else of them is known.
bool BatchSampler::ShareText(int64_t concept_number, int64_t other) const {
  for (const int64_t a : set_.texts(concept_number)) {
    for (const int64_t b : set_.texts(other)) {
      if (set_.text_tokens(a) == set_.text_tokens(b)) return true;
    }
  }
  return false;
}

ConceptBatch BatchSampler::PairTexts(const std::vector<int64_t>& concepts, Random* random) const {
  const int64_t count = static_cast<int64_t>(concepts.size());
  ConceptBatch batch;
  batch.related.assign(count * count, 0);
  for (int64_t i = 0; i < count; ++i) {
    const IndexRange texts = set_.texts(concepts[i]);
    const int64_t one = random->Below(texts.size());
    const int64_t step_on = 1 + random->Below(texts.size() - 1);
    batch.texts.push_back(texts[one]);
    batch.other_texts.push_back(texts[(one + step_on) % texts.size()]);
    for (int64_t j = 0; j < i; ++j) {
      batch.related[i * count + j] = batch.related[j * count + i] =
          ShareText(concepts[i], concepts[j]);
    }
  }
  return batch;
}

std::vector<int64_t> BatchSampler::AllConcepts() const {
  std::vector<int64_t> concepts(set_.concept_count());
  std::iota(concepts.begin(), concepts.end(), int64_t{0});
  return concepts;
}

ConceptBatch BatchSampler::Concepts(int64_t step) const {
  std::vector<int64_t> concepts = AllConcepts();
  Random random(SeedOf(options_.seed, RandomStream::kConcepts, step));
  const int64_t count = std::min(options_.bi.concepts, set_.concept_count());
  random.ShuffleFirst(count, &concepts);
  concepts.resize(count);
  return PairTexts(concepts, &random);
}

ConceptBatch BatchSampler::Texts(int64_t step) const {
  Random random(SeedOf(options_.seed, RandomStream::kTextBatch, step));
  return PairTexts(Slice(AllConcepts(), step, text_steps_per_epoch_, RandomStream::kTextOrder),
                   &random);
}

int64_t BatchSampler::DrawAny(int64_t row, const std::vector<int64_t>& pool,
                              const std::vector<int64_t>& drawn, Random* random) const {
  const auto fits = [&](int64_t other) {
    return !rows_.Related(row, other) && !Contains(drawn, other);
  };
  const auto other = DrawFitting(absl::MakeConstSpan(pool), fits, random);
  if (other.has_value()) return *other;
  // Fewer wrong rows than wanted: one comes twice.
  return drawn[random->Below(drawn.size())];
}

std::vector<int64_t> BatchSampler::DrawNegatives(int64_t row, Among among,
                                                 const MinedNegatives& mined,
                                                 Random* random) const {
  std::vector<int64_t> hard;
  for (const int64_t other : mined.of(rows_.captioned_index(row))) {
    if (other < 0) break;
    if (among == Among::kPictures || rows_.captioned_index(other) >= 0) hard.push_back(other);
  }
  const int64_t count = negatives();
  const int64_t easy = std::min(options_.joint.random_negatives, count);
  std::vector<int64_t> drawn;
  while (static_cast<int64_t>(drawn.size()) < count - easy && !hard.empty()) {
    // Squared, so that half of the draws fall on the first quarter.
    const double u = random->Uniform();
    const int64_t at = static_cast<int64_t>(u * u * static_cast<double>(hard.size()));
    drawn.push_back(hard[at]);
    hard.erase(hard.begin() + at);
  }
  const std::vector<int64_t>& pool =
      among == Among::kPictures ? rows_.pictured() : rows_.captioned();
  while (static_cast<int64_t>(drawn.size()) < count) {
    drawn.push_back(DrawAny(row, pool, drawn, random));
  }
  return drawn;
}

void BatchSampler::AddProblem(int64_t row, const MinedNegatives& mined, Random* random,
                              CrossBatch* batch) const {
  const double text_share =
      options_.joint.loss == CrossLoss::kPairwise ? 0.5 : options_.joint.text_negatives;
  const int64_t caption = PickCaption(row, random);
  const bool wrong_captions = random->Chance(text_share);
  batch->captions.push_back(caption);
  batch->rows.push_back(row);
  const Among among = wrong_captions ? Among::kCaptions : Among::kPictures;
  for (const int64_t other : DrawNegatives(row, among, mined, random)) {
    batch->captions.push_back(wrong_captions ? PickCaption(other, random) : caption);
    batch->rows.push_back(wrong_captions ? row : other);
  }
}

CrossBatch BatchSampler::Cross(int64_t step, const MinedNegatives& mined) const {
  const std::vector<int64_t> rows =
      Slice(rows_.captioned(), step, cross_steps_per_epoch_, RandomStream::kCrossOrder);
  Random random(SeedOf(options_.seed, RandomStream::kCrossBatch, step));
  CrossBatch batch;
  batch.problems = static_cast<int64_t>(rows.size());
  batch.candidates = 1 + negatives();
  for (const int64_t row : rows) AddProblem(row, mined, &random, &batch);
  return batch;
}

}  // namespace sightline
