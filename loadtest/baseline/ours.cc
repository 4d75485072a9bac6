// Sightline's side of the comparison with baseline.py: the same tasks over the same files,
// by the libraries that the servers are made of.  compare.py and peers.py start it.
//
//   ours FOLDER THREADS [PRECISION]
//
// The folder is that of data.py, the protocol that of side.py; PRECISION (float32) is that of an
// executor (common/models/network/executor.cc).
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/clock.h"
#include "common/base/compute_pool.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/feature_dtype.h"
#include "common/bundle/model_bundle.h"
#include "common/index/vector_index.h"
#include "common/models/inference.h"
#include "common/models/inputs/stored_features.h"
#include "common/models/model.h"
#include "common/rpc/cpu_check.h"

namespace sightline {
namespace {

// As in data.py.
constexpr int64_t kItems = 123'287;
constexpr int kDimension = 768;
constexpr int64_t kPictures = 256;
constexpr int64_t kRegions = 36;
constexpr int kFeatures = 2054;
constexpr int kCandidates = 20;

using Answer = std::vector<float>;

absl::StatusOr<std::unique_ptr<MappedFile>> MapFloats(const std::string& path, int64_t count) {
  ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file, MappedFile::Open(path));
  if (file->bytes().size() != count * sizeof(float)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has ", file->bytes().size(), " bytes; remove it and run again"));
  }
  return file;
}

const float* FloatsOf(const MappedFile& file) {
  return reinterpret_cast<const float*>(file.bytes().data());
}

class Ours {
 public:
  Ours(int threads, std::string precision) : pool_(threads), precision_(std::move(precision)) {}

  absl::Status Open(const std::string& folder) {
    // A link; a bundle's folder must have its id for a name.
    std::error_code error;
    const std::string directory =
        std::filesystem::canonical(JoinPath(folder, "model"), error).string();
    if (error) return FileError("find", JoinPath(folder, "model"), error.value());
    ASSIGN_OR_RETURN(const ModelBundle bundle,
                     OpenModelBundle(directory, /*verify_checksums=*/false));
    ModelOptions options;
    options.pool = &pool_;
    options.execution.precision = precision_;
    ASSIGN_OR_RETURN(model_, LoadModel(bundle, options));
    constexpr int64_t kMostQueryBytes = 1 << 20;
    ASSIGN_OR_RETURN(const std::string lines,
                     ReadFile(JoinPath(folder, "queries.txt"), kMostQueryBytes));
    queries_ = absl::StrSplit(lines, '\n', absl::SkipEmpty());
    ASSIGN_OR_RETURN(vectors_, MapFloats(JoinPath(folder, "vectors.f32"), kItems * kDimension));
    ASSIGN_OR_RETURN(index_,
                     OpenFlatIndex({FloatsOf(*vectors_), kItems, kDimension, kDimension}, &pool_));
    return PreparePictures(folder);
  }

  absl::StatusOr<Answer> TextEncoding(int64_t number) const {
    ASSIGN_OR_RETURN(const EmbeddingMatrix query, Encode(number));
    return Answer(query.values().begin(), query.values().end());
  }

  absl::StatusOr<Answer> Search(int64_t number) const {
    EmbeddingMatrix query(1, kDimension);
    std::copy_n(FloatsOf(*vectors_) + number % kItems * kDimension, kDimension,
                query.mutable_data());
    ASSIGN_OR_RETURN(const std::vector<Neighbor> found, SearchFor(query));
    Answer answer;
    // Scores, then rows: both must be the baseline's.
    for (const Neighbor& neighbor : found) answer.push_back(neighbor.score);
    for (const Neighbor& neighbor : found) answer.push_back(static_cast<float>(neighbor.row));
    return answer;
  }

  absl::StatusOr<Answer> Reranking(int64_t number) const {
    std::vector<int64_t> items(kCandidates);
    std::iota(items.begin(), items.end(), number);
    return Rerank(number, items);
  }

  absl::StatusOr<Answer> EndToEnd(int64_t number) const {
    ASSIGN_OR_RETURN(const EmbeddingMatrix query, Encode(number));
    ASSIGN_OR_RETURN(const std::vector<Neighbor> found, SearchFor(query));
    std::vector<int64_t> items;
    for (const Neighbor& neighbor : found) items.push_back(neighbor.row);
    ASSIGN_OR_RETURN(Answer scores, Rerank(number, items));
    std::sort(scores.begin(), scores.end(), std::greater<float>());
    return scores;
  }

 private:
  // What the corpus encoder stores of each item.
  absl::Status PreparePictures(const std::string& folder) {
    constexpr int64_t kNumbers = kRegions * kFeatures;
    ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> regions,
                     MapFloats(JoinPath(folder, "regions.f32"), kPictures * kNumbers));
    std::vector<ImageInput> images(kPictures);
    for (int64_t i = 0; i < kPictures; ++i) {
      const float* first = FloatsOf(*regions) + i * kNumbers;
      images[i].regions.count = kRegions;
      images[i].regions.feature_size = kFeatures;
      images[i].regions.features.assign(first, first + kNumbers);
    }
    ASSIGN_OR_RETURN(pictures_,
                     model_->cross_encoder()->PrepareImages(images, CallContext::Unbounded()));
    for (ItemFeatures& picture : pictures_) {
      ASSIGN_OR_RETURN(picture, StoredAs(kDefaultFeatureDtype, std::move(picture)));
    }
    return absl::OkStatus();
  }

  const std::string& Query(int64_t number) const {
    return queries_[static_cast<size_t>(number) % queries_.size()];
  }

  absl::StatusOr<EmbeddingMatrix> Encode(int64_t number) const {
    ASSIGN_OR_RETURN(Tokens tokens, model_->Tokenize(Query(number)));
    return model_->text_encoder()->Encode({std::move(tokens)}, CallContext::Unbounded());
  }

  absl::StatusOr<std::vector<Neighbor>> SearchFor(const EmbeddingMatrix& query) const {
    ASSIGN_OR_RETURN(auto found, index_->Search(query, {kCandidates}, CallContext::Unbounded()));
    return std::move(found[0]);
  }

  absl::StatusOr<Answer> Rerank(int64_t number, const std::vector<int64_t>& items) const {
    ASSIGN_OR_RETURN(const ItemFeatures text, TextFeatures(*model_, Query(number)));
    std::vector<ScoringPair> pairs;
    for (const int64_t item : items) pairs.push_back({&text, &pictures_[item % kPictures]});
    return model_->cross_encoder()->Score(pairs, CallContext::Unbounded());
  }

  ComputePool pool_;
  const std::string precision_;
  std::shared_ptr<const Model> model_;
  std::vector<std::string> queries_;
  std::unique_ptr<MappedFile> vectors_;
  std::unique_ptr<VectorIndex> index_;
  std::vector<ItemFeatures> pictures_;
};

// One line of the protocol.
absl::StatusOr<std::string> Do(const Ours& ours, const std::string& line) {
  using Task = absl::StatusOr<Answer> (Ours::*)(int64_t) const;
  static const auto* const tasks = new std::map<std::string, Task>{
      {"text_encoding", &Ours::TextEncoding},
      {"search", &Ours::Search},
      {"reranking", &Ours::Reranking},
      {"end_to_end", &Ours::EndToEnd},
  };
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  int64_t first = 0, count = 0;
  if (words.size() != 3 || tasks->count(words[0]) == 0 || !absl::SimpleAtoi(words[1], &first) ||
      !absl::SimpleAtoi(words[2], &count)) {
    return absl::InvalidArgumentError(absl::StrCat("'", line, "' is not TASK FIRST COUNT"));
  }
  Answer answer;
  const absl::Time begin = Clock::Real()->Now();
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(answer, (ours.*tasks->at(words[0]))(first + i));
  }
  const double seconds = absl::ToDoubleSeconds(Clock::Real()->Now() - begin);
  return nlohmann::json({{"seconds", seconds}, {"answer", answer}}).dump();
}

absl::Status Run(const std::string& folder, int threads, const std::string& precision) {
  ComputePool::SingleThreadedLibraries();
  UseSingleThreadedTorch();
  Ours ours(threads, precision);
  RETURN_IF_ERROR(ours.Open(folder));
  std::cout << "ready" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
    ASSIGN_OR_RETURN(const std::string told, Do(ours, line));
    std::cout << told << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  int threads = 0;
  if (argc < 3 || argc > 4 || !absl::SimpleAtoi(argv[2], &threads) || threads < 1) {
    std::cerr << "usage: ours FOLDER THREADS [PRECISION]; compare.py makes the folder\n";
    return 1;
  }
  if (const char* problem = sightline::UnsupportedCpu()) {
    std::cerr << problem;
    return 2;
  }
  const absl::Status status = sightline::Run(argv[1], threads, argc > 3 ? argv[3] : "float32");
  if (status.ok()) return 0;
  std::cerr << "ours: " << status << "\n";
  return 2;
}
