// A training set and a model so small that a test can train to the end.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_TINY_TRAINING_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_TINY_TRAINING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/bundle/model_bundle.h"
#include "common/training/training_options.h"
#include "common/training/training_set.h"
#include "common/training/training_set_writer.h"
#include "tests/support/temp_dir.h"

namespace sightline {

struct TinyRows {
  int64_t train = 12;
  int64_t distractors = 4;  // of use kTrain
  int64_t validation = 3;
  int64_t held_out = 2;
};

// Rows in this order: train, distractors, validation, held out.  Row i has a caption of two
// words of its own (key i), another of one word (key 100 + i), and one of another language
// (key 200 + i).  Pictures are 16 x 16, random blocks of colour on white, all different.
// Five concepts, of two or three texts of words that captions have, too; the first two share
// a text.
TrainingSetContent TinyContent(const TinyRows& rows);
std::string TinyTrainingVocabulary();
std::string TinyPicture(int64_t row);

// The set of a content, in a folder of its own.  Fails the test if it cannot.
class TinyTrainingSet {
 public:
  explicit TinyTrainingSet(const TrainingSetContent& content,
                           const std::function<std::string(int64_t row)>& picture = &TinyPicture);
  explicit TinyTrainingSet(const TinyRows& rows = {}) : TinyTrainingSet(TinyContent(rows)) {}

  const TrainingSet& operator*() const { return *set_; }
  const TrainingSet* operator->() const { return set_.get(); }
  const TrainingSet* get() const { return set_.get(); }

 private:
  TempDir dir_;
  std::unique_ptr<TrainingSet> set_;
};

// Joint OSCAR for these: 2 layers of width 16 over 2 x 2 cells.
bundle::v1::ModelBundleManifest TinyTrainingManifest();

// Small batches, few steps, nothing random in pictures.
TrainingOptions TinyTrainingOptions();

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_TINY_TRAINING_H_
