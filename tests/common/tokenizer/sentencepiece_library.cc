// SentencePiece's own library as a program, which judges ours.  It carries a protobuf and
// flags under the names of those of the distribution, so no process can have both.
//
//   sentencepiece_library train MODEL ARGUMENTS < sentences
//   sentencepiece_library encode MODEL < texts
//
// `train` writes a model file; `encode` prints a JSON array of SentencePiece's ids for each
// text.  Sentences and texts are JSON strings, one a line.
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace sightline {
namespace {

// Ends the program if the library fails.
void Require(const sentencepiece::util::Status& status) {
  if (status.ok()) return;
  std::cerr << status.ToString() << std::endl;
  std::exit(1);
}

std::vector<std::string> ReadTexts() {
  std::vector<std::string> texts;
  for (std::string line; std::getline(std::cin, line);) {
    texts.push_back(nlohmann::json::parse(line));
  }
  return texts;
}

// Hands the trainer one sentence after the other.
class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(std::vector<std::string> sentences) : sentences_(std::move(sentences)) {}
  bool done() const override { return next_ == sentences_.size(); }
  void Next() override { ++next_; }
  const std::string& value() const override { return sentences_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string> sentences_;
  size_t next_ = 0;
};

void Train(const std::string& path, const std::string& arguments) {
  Sentences sentences(ReadTexts());
  std::string model;
  Require(sentencepiece::SentencePieceTrainer::Train(arguments, &sentences, &model));
  std::ofstream(path, std::ios::binary) << model;
}

void Encode(const std::string& path) {
  sentencepiece::SentencePieceProcessor processor;
  Require(processor.Load(path));
  for (const std::string& text : ReadTexts()) {
    std::vector<int> ids;
    Require(processor.Encode(text, &ids));
    std::cout << nlohmann::json(ids) << "\n";
  }
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 3 && arguments[0] == "train") {
    sightline::Train(arguments[1], arguments[2]);
  } else if (arguments.size() == 2 && arguments[0] == "encode") {
    sightline::Encode(arguments[1]);
  } else {
    std::cerr << "usage: train MODEL ARGUMENTS | encode MODEL" << std::endl;
    return 2;
  }
  return 0;
}
