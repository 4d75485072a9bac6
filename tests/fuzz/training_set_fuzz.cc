// Training sets whose container is sound and whose numbers are anybody's.  A good set is
// written, and each four bytes of the input change one byte of one section: which section,
// where, to what; an odd fourth one shortens the section by an element first.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/bundle/container.h"
#include "common/training/training_set.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Part {
  std::string name;
  sightline::Dtype dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};

template <typename T>
Part Numbers(const char* name, sightline::Dtype dtype, const std::vector<T>& values) {
  return {name,
          dtype,
          {static_cast<int64_t>(values.size())},
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))};
}

Part Text(const char* name, const std::string& text) {
  return {name, sightline::Dtype::kBytes, {static_cast<int64_t>(text.size())}, text};
}

// Three rows: two captions, none, one; and a concept.
std::vector<Part> GoodSet() {
  using sightline::Dtype;
  const std::string digest(64, 'a');
  return {
      {"pictures", Dtype::kBytes, {3, 12}, std::string(36, '\xC8')},
      Numbers<int64_t>("image_size", Dtype::kInt64, {2}),
      Numbers<int64_t>("split", Dtype::kInt64, {0, 0, 2}),
      Numbers<int64_t>("group", Dtype::kInt64, {0, 0, 2}),
      Numbers<int64_t>("captions/items", Dtype::kInt64, {0, 2, 2, 3}),
      Numbers<int64_t>("tokens/captions", Dtype::kInt64, {0, 4, 7, 10}),
      Numbers<int32_t>("tokens", Dtype::kInt32, {2, 5, 6, 3, 2, 7, 3, 2, 8, 3}),
      Numbers<int64_t>("language", Dtype::kInt64, {0, 1, 0}),
      Numbers<int64_t>("caption_key", Dtype::kInt64, {0, 1, 2}),
      Numbers<int64_t>("texts/concepts", Dtype::kInt64, {0, 2}),
      Numbers<int64_t>("tokens/texts", Dtype::kInt64, {0, 3, 7}),
      Numbers<int32_t>("text_tokens", Dtype::kInt32, {2, 5, 3, 2, 6, 7, 3}),
      Text("languages", "en\nde\n"),
      Numbers<int64_t>("max_token_count", Dtype::kInt64, {8}),
      Numbers<int64_t>("vocabulary_size", Dtype::kInt64, {10}),
      Numbers<int64_t>("special_tokens", Dtype::kInt64, {0, 1, 2, 3, 4}),
      Text("vocabulary_sha256", digest),
      Text("items_sha256", digest),
  };
}

void Shorten(Part* part) {
  if (part->shape.size() != 1 || part->shape[0] == 0) return;
  const size_t element = part->bytes.size() / static_cast<size_t>(part->shape[0]);
  part->bytes.resize(part->bytes.size() - element);
  --part->shape[0];
}

void Change(const uint8_t* edit, std::vector<Part>* parts) {
  Part& part = (*parts)[edit[0] % parts->size()];
  if ((edit[3] & 1) != 0) Shorten(&part);
  if (part.bytes.empty()) return;
  part.bytes[edit[1] % part.bytes.size()] = static_cast<char>(edit[2]);
}

bool Write(const std::string& path, const std::vector<Part>& parts) {
  auto writer = sightline::ContainerWriter::Create(path);
  if (!writer.ok()) return false;
  for (const Part& part : parts) {
    if (!(*writer)->Declare(part.name, part.dtype, part.shape).ok()) return false;
  }
  for (const Part& part : parts) {
    if (!part.bytes.empty() && !(*writer)->Append(part.bytes).ok()) return false;
  }
  return (*writer)->Finish().ok();
}

// Touches all that a trainer would, so that the sanitizer sees what lies outside.
void Read(const sightline::TrainingSet& set) {
  int64_t sum = 0;
  for (int64_t row = 0; row < set.row_count(); ++row) {
    for (int64_t i = 0; i < set.picture_bytes(); ++i) sum += set.picture(row)[i];
    Require(set.group(row) >= 0 && set.group(row) <= row);
    for (const int64_t caption : set.captions(row)) {
      Require(set.language(caption) < static_cast<int64_t>(set.languages().size()));
      Require(static_cast<int64_t>(set.tokens(caption).size()) <= set.max_token_count());
      for (const int32_t token : set.tokens(caption)) {
        Require(token >= 0 && token < set.vocabulary_size());
      }
    }
  }
  for (int64_t number = 0; number < set.concept_count(); ++number) {
    Require(set.texts(number).size() >= 2);
    for (const int64_t text : set.texts(number)) {
      for (const int32_t token : set.text_tokens(text)) {
        Require(token >= 0 && token < set.vocabulary_size());
      }
    }
  }
  Require(sum >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string path = absl::StrCat("/dev/shm/training_set_fuzz.", ::getpid());
  std::vector<Part> parts = GoodSet();
  for (; size >= 4; data += 4, size -= 4) Change(data, &parts);
  if (!Write(path, parts)) return 0;
  const auto set = sightline::TrainingSet::Open(path);
  if (set.ok()) {
    Read(**set);
  } else {
    Require(absl::IsDataLoss(set.status()));
  }
  ::unlink(path.c_str());
  return 0;
}
