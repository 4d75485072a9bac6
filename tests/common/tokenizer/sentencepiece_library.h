// SentencePiece's own library, which judges ours.  Its headers and Abseil's cannot be in one
// file, so only std is here; and as it carries a protobuf of its own, nothing that links
// protobuf may link this.
#ifndef SIGHTLINE_TESTS_COMMON_TOKENIZER_SENTENCEPIECE_LIBRARY_H_
#define SIGHTLINE_TESTS_COMMON_TOKENIZER_SENTENCEPIECE_LIBRARY_H_

#include <memory>
#include <string>
#include <vector>

namespace sightline {

// A model file trained on `sentences`; throws std::runtime_error if that fails.
std::string TrainWithLibrary(const std::vector<std::string>& sentences,
                             const std::string& arguments);

class LibraryTokenizer {
 public:
  // Throws std::runtime_error if the library refuses the model.
  explicit LibraryTokenizer(const std::string& model);
  ~LibraryTokenizer();

  // SentencePiece's ids.
  std::vector<int> Encode(const std::string& text) const;

 private:
  struct Processor;
  std::unique_ptr<Processor> processor_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TOKENIZER_SENTENCEPIECE_LIBRARY_H_
