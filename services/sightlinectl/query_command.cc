#include "services/sightlinectl/query_command.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/call_context.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/clients/router_address.h"
#include "common/clients/search_client.h"
#include "services/sightlinectl/query_regions.h"
#include "services/sightlinectl/search_output.h"

namespace sightline {
namespace {

struct QueryFlags {
  std::string router = DefaultRouter();
  absl::Duration timeout = absl::Seconds(5);
  SearchRequest request;  // what of it needs no reading
  std::string image;
  std::string regions;
  std::string item;
  std::string item_index;
  std::string combination;
  std::vector<std::string> any, all, none;  // as given: each one tag or several
  std::string recall;
  bool compare = false;
  bool json = false;

  void Define(Flags* flags) {
    flags->String("router", "ADDR", kRouterHelp, &router);
    flags->Duration("timeout", "how long to wait for the answer; default 5s", &timeout);
    flags->String("index", "NAME", "index to search; default: the only one that fits",
                  &request.index);
    flags->String("image", "FILE", "query by a picture: JPEG, PNG or WebP", &image);
    flags->String("regions", "PLACE",
                  "query by what a detector found: FILE.npz, or FILE#ROW as hits print it",
                  &regions);
    flags->String("item", "ID", "query by a stored item", &item);
    flags->String("item-index", "NAME", "index that stores it; default: the searched one",
                  &item_index);
    flags->Int("top-k", "hits wanted; default 10", 1, limits::kMaxHits, &request.top_k);
    flags->Int("depth", "candidates to rerank; 0: retrieval only", 0, limits::kMaxHits,
               &request.depth);
    flags->String("combination", "HOW",
                  "replace, add_lambda:L or norm_add_lambda:L; default: as the model declares",
                  &combination);
    flags->String("reranker", "NAME", "which of the index's rerankers; default: its default one",
                  &request.reranker);
    flags->Strings("any", "TAG,...", "only what has one of these tags; may be given again", &any);
    flags->Strings("all", "TAG,...", "only what has every one of these", &all);
    flags->Strings("none", "TAG,...", "nothing that has one of these", &none);
    flags->String("recall", "R",
                  "share of the nearest items to be found, more than 0, at most 1; default: as the "
                  "index declares",
                  &recall);
    flags->Int("effort", "or how hard to look, in what the index counts it in", 1,
               limits::kMaxEffort, &request.effort.effort);
    flags->String("page-token", "TOKEN",
                  "the hits after those of the answer that printed it; ask the same as there",
                  &request.page_token);
    flags->Switch("compare", "ask without and with reranking, and print both side by side",
                  &compare);
    flags->Switch("json", "print the answer as JSON, as the API defines it", &json);
  }
};

// A file that is longer than the wire's bound is refused before it is read and sent.
absl::StatusOr<std::string> ReadImage(const std::string& path) {
  return ReadFile(path, limits::kMaxImageBytes);
}

CallContext Call(absl::Duration timeout) {
  return CallContext(Clock::Real(), Clock::Real()->Now() + timeout);
}

// What lists of tags name.  A list that is empty is a mistake, of a script's variable most likely,
// and would let through everything.
absl::StatusOr<std::vector<std::string>> TagsOf(absl::string_view flag,
                                                const std::vector<std::string>& lists) {
  std::vector<std::string> tags;
  for (const std::string& list : lists) {
    const std::vector<std::string> named = absl::StrSplit(list, ',', absl::SkipEmpty());
    if (named.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " '", list, "' names no tag; name one, or leave it out"));
    }
    tags.insert(tags.end(), named.begin(), named.end());
  }
  return tags;
}

absl::StatusOr<float> ParseRecall(const std::string& text) {
  float recall = 0;
  if (absl::SimpleAtof(text, &recall) && recall > 0 && recall <= 1) return recall;
  return absl::InvalidArgumentError(
      absl::StrCat("--recall: '", text, "' is not more than 0 and at most 1"));
}

absl::StatusOr<TagFilter> FilterOf(const QueryFlags& flags) {
  TagFilter filter;
  ASSIGN_OR_RETURN(filter.any, TagsOf("any", flags.any));
  ASSIGN_OR_RETURN(filter.all, TagsOf("all", flags.all));
  ASSIGN_OR_RETURN(filter.none, TagsOf("none", flags.none));
  return filter;
}

// Problems of the command line come first, then those of files.
absl::Status CheckQuery(const QueryFlags& flags, const std::vector<std::string>& words) {
  const int kinds =
      !words.empty() + !flags.image.empty() + !flags.regions.empty() + !flags.item.empty();
  if (kinds != 1) {
    return absl::InvalidArgumentError(
        "give one of: a text, --image FILE, --regions PLACE, --item ID");
  }
  if (!flags.item_index.empty() && flags.item.empty()) {
    return absl::InvalidArgumentError("--item-index says where --item lies; there is none");
  }
  if (flags.compare && flags.json) {
    return absl::InvalidArgumentError("--compare is for people, --json for programs; give one");
  }
  if (flags.compare && flags.request.depth == 0) {
    return absl::InvalidArgumentError(
        "--compare asks with depth 0 and with --depth; give another depth or none");
  }
  if (flags.compare && !flags.request.page_token.empty()) {
    return absl::InvalidArgumentError(
        "--compare asks twice, and --page-token belongs to one of the two; give one");
  }
  if (!flags.combination.empty()) RETURN_IF_ERROR(ParseCombination(flags.combination).status());
  if (!flags.recall.empty() && flags.request.effort.effort.has_value()) {
    return absl::InvalidArgumentError("--recall and --effort say the same; give one");
  }
  if (!flags.recall.empty()) RETURN_IF_ERROR(ParseRecall(flags.recall).status());
  return FilterOf(flags).status();
}

absl::StatusOr<SearchRequest> BuildRequest(const QueryFlags& flags,
                                           const std::vector<std::string>& words) {
  SearchRequest request = flags.request;
  if (!flags.image.empty()) {
    ASSIGN_OR_RETURN(std::string bytes, ReadImage(flags.image));
    request.query = ImageQuery{std::move(bytes)};
  } else if (!flags.regions.empty()) {
    ASSIGN_OR_RETURN(ImageInput image, ReadQueryRegions(flags.regions));
    request.query = RegionsQuery{std::move(image)};
  } else if (!flags.item.empty()) {
    request.query = ItemQuery{flags.item_index, flags.item};
  } else {
    request.query = TextQuery{absl::StrJoin(words, " ")};
  }
  if (!flags.combination.empty()) {
    ASSIGN_OR_RETURN(request.combination, ParseCombination(flags.combination));
  }
  ASSIGN_OR_RETURN(request.filter, FilterOf(flags));
  if (!flags.recall.empty()) {
    ASSIGN_OR_RETURN(request.effort.recall, ParseRecall(flags.recall));
  }
  return request;
}

// One answer, for people or for programs.
int Answer(const QueryFlags& flags, SearchRequest request, const Console& console) {
  absl::StatusOr<SearchResult> result =
      MakeGrpcSearchClient(flags.router)->SearchItems(Call(flags.timeout), std::move(request));
  if (!result.ok()) return Fail(result.status(), console);
  if (flags.json) {
    console.out << SearchResultJson(*std::move(result)) << "\n";
    return kSuccess;
  }
  console.out << FormatHits(*result);
  console.err << FormatSummary(*result);
  if (!result->next_page_token.empty()) {
    console.err << "more: --page-token " << result->next_page_token << "\n";
  }
  return kSuccess;
}

// The same request without and with reranking.
int Compare(const QueryFlags& flags, SearchRequest request, const Console& console) {
  const std::unique_ptr<SearchClient> client = MakeGrpcSearchClient(flags.router);
  SearchRequest retrieval_only = request;
  retrieval_only.depth = 0;
  const absl::StatusOr<SearchResult> retrieved =
      client->SearchItems(Call(flags.timeout), std::move(retrieval_only));
  if (!retrieved.ok()) return Fail(retrieved.status(), console);
  absl::StatusOr<SearchResult> reranked = client->SearchItems(Call(flags.timeout), request);
  if (reranked.ok() && reranked->rerank == RerankOutcome::kNotByDefault) {
    // Whoever compares asks for reranking; the name says so and leaves the depth to the router.
    request.reranker = reranked->reranker;
    reranked = client->SearchItems(Call(flags.timeout), std::move(request));
  }
  if (!reranked.ok()) return Fail(reranked.status(), console);
  console.out << FormatComparison(*retrieved, *reranked);
  console.err << FormatSummary(*retrieved) << FormatSummary(*reranked);
  return kSuccess;
}

}  // namespace

absl::StatusOr<Combination> ParseCombination(const std::string& text) {
  const size_t colon = text.find(':');
  const auto bad = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("--combination: '", text,
                     "' is not replace, add_lambda:L or norm_add_lambda:L with L from 0 to 1"));
  };
  const auto kind = ParseCombinationKind(text.substr(0, colon));
  if (!kind.ok()) return bad();
  Combination combination;
  combination.kind = *kind;
  // A weight that is not there, or one that would be ignored, is a misunderstanding.
  if ((combination.kind == CombinationKind::kReplace) != (colon == std::string::npos)) return bad();
  if (colon != std::string::npos &&
      !absl::SimpleAtof(text.substr(colon + 1), &combination.lambda)) {
    return bad();
  }
  if (!Validate(combination).ok()) return bad();
  return combination;
}

int RunQuery(const std::vector<std::string>& args, const Console& console) {
  QueryFlags flags;
  Flags definitions;
  flags.Define(&definitions);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kQueryCommand, &definitions, args, console, &words, &status)) return status;
  if (const absl::Status usable = CheckQuery(flags, words); !usable.ok()) {
    return UsageError(kQueryCommand, std::string(usable.message()), console);
  }
  absl::StatusOr<SearchRequest> request = BuildRequest(flags, words);
  if (!request.ok()) return Fail(request.status(), console);
  return flags.compare ? Compare(flags, *std::move(request), console)
                       : Answer(flags, *std::move(request), console);
}

namespace {

absl::StatusOr<PairImage> ReadPairImage(const std::string& image, const std::string& regions) {
  if (regions.empty()) {
    ASSIGN_OR_RETURN(std::string bytes, ReadImage(image));
    return ImageQuery{std::move(bytes)};
  }
  ASSIGN_OR_RETURN(ImageInput read, ReadQueryRegions(regions));
  return RegionsQuery{std::move(read)};
}

}  // namespace

int RunScore(const std::vector<std::string>& args, const Console& console) {
  std::string router = DefaultRouter(), image, regions;
  absl::Duration timeout = absl::Seconds(5);
  ScorePairsRequest request;
  Flags flags;
  flags.String("router", "ADDR", kRouterHelp, &router);
  flags.Duration("timeout", "how long to wait for the answer; default 5s", &timeout);
  flags.String("index", "NAME", "index whose models score; default: the only one of pictures",
               &request.index);
  flags.String("image", "FILE", "the picture: JPEG, PNG or WebP", &image);
  flags.String("regions", "PLACE",
               "or what a detector found in it: FILE.npz, or FILE.regions#ROW as hits print it",
               &regions);
  flags.String("reranker", "NAME", "which of the index's rerankers; default: its default one",
               &request.reranker);
  std::vector<std::string> words;
  int status = kSuccess;
  if (!ParseArguments(kScoreCommand, &flags, args, console, &words, &status)) return status;
  if (words.empty() || image.empty() == regions.empty()) {
    return UsageError(kScoreCommand, "give a text and --image FILE or --regions PLACE", console);
  }
  absl::StatusOr<PairImage> picture = ReadPairImage(image, regions);
  if (!picture.ok()) return Fail(picture.status(), console);
  request.texts.push_back(TextQuery{absl::StrJoin(words, " ")});
  request.images.push_back(*std::move(picture));
  const absl::StatusOr<ScorePairsResult> result =
      MakeGrpcSearchClient(router)->ScorePairs(Call(timeout), std::move(request));
  if (!result.ok()) return Fail(result.status(), console);
  console.out << FormatScore(*result);
  return kSuccess;
}

}  // namespace sightline
