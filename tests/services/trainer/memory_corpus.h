// A corpus in memory.
#ifndef SIGHTLINE_TESTS_SERVICES_TRAINER_MEMORY_CORPUS_H_
#define SIGHTLINE_TESTS_SERVICES_TRAINER_MEMORY_CORPUS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/dataset/corpus.h"

namespace sightline {

class MemoryCorpus : public CorpusReader {
 public:
  void Add(const std::string& id, const std::string& bytes,
           std::vector<CorpusCaption> captions = {}, absl::optional<Split> split = {}) {
    CorpusItem item;
    item.item_id = id;
    item.path = "/pictures/" + id;
    item.captions = std::move(captions);
    item.split = split;
    items_.push_back(std::move(item));
    pictures_[id] = bytes;
  }

  // Reading the picture of `id` gives `error`.
  void Fail(const std::string& id, const absl::Status& error) { errors_[id] = error; }

  // Called before each reading.
  void OnRead(std::function<void()> callback) { on_read_ = std::move(callback); }

  absl::Status ListTo(ListingSink& sink) const override {
    for (const CorpusItem& item : items_) RETURN_IF_ERROR(GiveItem(item, sink));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ReadPicture(const CorpusItem& item, int64_t) const override {
    if (on_read_) on_read_();
    const auto error = errors_.find(item.item_id);
    if (error != errors_.end()) return error->second;
    return pictures_.at(item.item_id);
  }

 private:
  std::vector<CorpusItem> items_;
  std::map<std::string, std::string> pictures_;
  std::map<std::string, absl::Status> errors_;
  std::function<void()> on_read_;
};

inline std::vector<std::unique_ptr<CorpusReader>> CorporaOf(MemoryCorpus corpus) {
  std::vector<std::unique_ptr<CorpusReader>> corpora;
  corpora.push_back(std::make_unique<MemoryCorpus>(std::move(corpus)));
  return corpora;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_TRAINER_MEMORY_CORPUS_H_
