// check_scripts STORE ID EXPECTED.json: whether the model embeds texts and pictures as the file
// says, within 1e-4, alone and together.  The file:
//   {"texts": [{"text": "a red", "ids": [...], "embedding": [...]}],
//    "pictures": [{"width": 2, "height": 1, "rgb": [...], "embedding": [...]}]}
#include <algorithm>
#include <cmath>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/bundle/layout.h"
#include "common/models/model.h"
#include "nlohmann/json.hpp"

namespace sightline {
namespace {

const CallContext kCall = CallContext::Unbounded();

template <typename T>
T OrThrow(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

void Compare(const EmbeddingMatrix& rows, const nlohmann::json& items, int64_t first, bool exactly,
             const EmbeddingMatrix* same) {
  for (int64_t i = 0; i < rows.rows(); ++i) {
    const auto wanted = items[first + i]["embedding"].get<std::vector<float>>();
    for (size_t k = 0; k < wanted.size(); ++k) {
      const float given = rows.row(i)[k];
      if (!(std::abs(given - wanted[k]) <= 1e-4f)) {
        throw std::runtime_error(absl::StrCat("item ", first + i, ", number ", k, " is ", given,
                                              ", wanted ", wanted[k]));
      }
      if (exactly && given != same->row(first + i)[k]) {
        throw std::runtime_error(absl::StrCat("item ", first + i, " differs by its batch"));
      }
    }
  }
}

void CheckTexts(const Model& model, const nlohmann::json& items, bool exactly) {
  std::vector<Tokens> texts;
  for (const nlohmann::json& item : items) {
    texts.push_back(OrThrow(model.Tokenize(item["text"].get<std::string>())));
    if (texts.back().ids != item["ids"].get<std::vector<int32_t>>()) {
      throw std::runtime_error(absl::StrCat("other tokens: ", item.dump()));
    }
  }
  const EmbeddingMatrix all = OrThrow(model.text_encoder()->Encode(texts, kCall));
  Compare(all, items, 0, false, nullptr);
  for (size_t i = 0; i < texts.size(); ++i) {
    Compare(OrThrow(model.text_encoder()->Encode({texts[i]}, kCall)), items, i, exactly, &all);
  }
}

void CheckPictures(const Model& model, const nlohmann::json& items, bool exactly) {
  std::vector<Pixels> pictures;
  for (const nlohmann::json& item : items) {
    pictures.push_back({item["width"], item["height"], item["rgb"].get<std::vector<uint8_t>>()});
  }
  std::vector<ImageInput> images;
  for (RegionSet& regions : OrThrow(model.region_extractor()->Extract(pictures, kCall))) {
    images.emplace_back();
    images.back().regions = std::move(regions);
  }
  const EmbeddingMatrix all = OrThrow(model.image_encoder()->Encode(images, kCall));
  Compare(all, items, 0, false, nullptr);
  for (size_t i = 0; i < images.size(); ++i) {
    Compare(OrThrow(model.image_encoder()->Encode({images[i]}, kCall)), items, i, exactly, &all);
  }
}

void Run(const std::string& store, const std::string& id, const std::string& expected) {
  const nlohmann::json wanted = nlohmann::json::parse(OrThrow(ReadFile(expected)));
  const ModelBundle bundle =
      OrThrow(OpenModelBundle(ModelDirectory(store, id), /*verify_checksums=*/true));
  ComputePool pool(2);
  for (const bool deterministic : {false, true}) {
    ModelOptions options;
    options.pool = &pool;
    options.deterministic = deterministic;
    const auto model = OrThrow(LoadModel(bundle, options));
    CheckTexts(*model, wanted["texts"], deterministic);
    CheckPictures(*model, wanted["pictures"], deterministic);
  }
}

}  // namespace
}  // namespace sightline

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: check_scripts STORE ID EXPECTED.json\n";
    return 64;
  }
  try {
    sightline::Run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
