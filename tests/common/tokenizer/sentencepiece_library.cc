#include "tests/common/tokenizer/sentencepiece_library.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <stdexcept>

namespace sightline {
namespace {

void Require(const sentencepiece::util::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

// Hands the trainer one sentence after the other.
class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::string>& sentences) : sentences_(sentences) {}
  bool done() const override { return next_ == sentences_.size(); }
  void Next() override { ++next_; }
  const std::string& value() const override { return sentences_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& sentences_;
  size_t next_ = 0;
};

}  // namespace

struct LibraryTokenizer::Processor {
  sentencepiece::SentencePieceProcessor processor;
};

std::string TrainWithLibrary(const std::vector<std::string>& sentences,
                             const std::string& arguments) {
  std::string model;
  Sentences iterator(sentences);
  Require(sentencepiece::SentencePieceTrainer::Train(arguments, &iterator, &model));
  return model;
}

LibraryTokenizer::LibraryTokenizer(const std::string& model)
    : processor_(std::make_unique<Processor>()) {
  Require(processor_->processor.LoadFromSerializedProto(model));
}

LibraryTokenizer::~LibraryTokenizer() = default;

std::vector<int> LibraryTokenizer::Encode(const std::string& text) const {
  std::vector<int> ids;
  Require(processor_->processor.Encode(text, &ids));
  return ids;
}

}  // namespace sightline
