#include "common/training/objectives/masking.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sightline {
namespace {

int32_t Shown(int32_t token, const TokenMasking& masking, Random* random) {
  const double u = random->Uniform();
  if (u < masking.masked) return masking.mask_id;
  if (u >= masking.masked + masking.random) return token;
  return static_cast<int32_t>(masking.random_begin +
                              random->Below(masking.random_end - masking.random_begin));
}

// Places of tokens that may become targets: of the words, or, where there are none, all.
std::vector<int64_t> OpenPlaces(absl::Span<const int32_t> tokens, const TokenMasking& masking) {
  std::vector<int64_t> all, of_words;
  for (size_t i = 0; i < tokens.size(); ++i) {
    all.push_back(static_cast<int64_t>(i));
    const auto& words = masking.words;
    if (std::find(words.begin(), words.end(), tokens[i]) != words.end()) of_words.push_back(all[i]);
  }
  return of_words.empty() ? all : of_words;
}

std::vector<int64_t> ChooseTargets(absl::Span<const int32_t> tokens, const TokenMasking& masking,
                                   Random* random) {
  const std::vector<int64_t> open = OpenPlaces(tokens, masking);
  std::vector<int64_t> places =
      ChoosePlaces(static_cast<int64_t>(open.size()), masking.share, random);
  for (int64_t& place : places) place = open[place];
  return places;
}

MaskedTokens MaskPlaces(absl::Span<const int32_t> tokens, std::vector<int64_t> places,
                        const TokenMasking& masking, Random* random) {
  MaskedTokens masked;
  masked.tokens.assign(tokens.begin(), tokens.end());
  masked.places = std::move(places);
  for (const int64_t place : masked.places) {
    masked.targets.push_back(tokens[place]);
    masked.tokens[place] = Shown(tokens[place], masking, random);
  }
  return masked;
}

// Gives one target up for a shared token, if there is one that is no target.
void PreferShared(absl::Span<const int32_t> caption, const std::set<int32_t>& scene,
                  std::vector<int64_t>* places, Random* random) {
  std::vector<int64_t> shared;
  for (size_t i = 0; i < caption.size(); ++i) {
    const bool is_target = std::binary_search(places->begin(), places->end(), i);
    if (!is_target && scene.count(caption[i]) > 0) shared.push_back(static_cast<int64_t>(i));
  }
  if (shared.empty()) return;
  (*places)[random->Below(places->size())] = shared[random->Below(shared.size())];
  std::sort(places->begin(), places->end());
}

}  // namespace

absl::Status CheckTokenMasking(const TokenMasking& masking, int64_t vocabulary_size) {
  std::vector<std::string> problems;
  const auto require = [&](bool holds, const std::string& problem) {
    if (!holds) problems.push_back(problem);
  };
  // So that NaN is refused.
  require(masking.share > 0 && masking.share <= 1,
          absl::StrCat("share is ", masking.share, ", not above 0 and up to 1"));
  require(masking.masked >= 0 && masking.random >= 0 && masking.masked + masking.random <= 1,
          absl::StrCat("masked and random are ", masking.masked, " and ", masking.random,
                       ", not two shares of 1"));
  require(masking.mask_id >= 0 && masking.mask_id < vocabulary_size,
          absl::StrCat("mask_id is ", masking.mask_id, ", not below ", vocabulary_size));
  require(masking.random_begin >= 0 && masking.random_begin < masking.random_end &&
              masking.random_end <= vocabulary_size,
          absl::StrCat("random tokens are ", masking.random_begin, " to before ",
                       masking.random_end, ", no range of ids below ", vocabulary_size));
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("masking: ", absl::StrJoin(problems, "; ")));
}

std::vector<int64_t> ChoosePlaces(int64_t count, double share, Random* random) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i) {
    if (random->Chance(share)) places.push_back(i);
  }
  if (places.empty() && count > 0) places.push_back(random->Below(count));
  return places;
}

MaskedTokens MaskTokens(absl::Span<const int32_t> tokens, const TokenMasking& masking,
                        Random* random) {
  return MaskPlaces(tokens, ChooseTargets(tokens, masking, random), masking, random);
}

CoMasked CoMaskTokens(absl::Span<const int32_t> caption, absl::Span<const int32_t> scene,
                      const TokenMasking& masking, Random* random) {
  std::vector<int64_t> places = ChooseTargets(caption, masking, random);
  PreferShared(caption, {scene.begin(), scene.end()}, &places, random);
  CoMasked masked;
  masked.caption = MaskPlaces(caption, std::move(places), masking, random);
  const std::set<int32_t> hidden(masked.caption.targets.begin(), masked.caption.targets.end());
  for (const int32_t token : scene) {
    masked.scene.push_back(hidden.count(token) > 0 ? masking.mask_id : token);
  }
  return masked;
}

}  // namespace sightline
