#include "common/retrieval/page_token.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

PageToken Sample() {
  PageToken token;
  token.index = "pictures";
  token.generation = "generation-7";
  token.item_generation = "2026-01-31";
  token.request = FingerprintOf({}, 20);
  token.offset = 999;
  return token;
}

// The token is refused, by the name of its field.
void CheckRefused(const std::string& text) {
  CAPTURE(text);
  const absl::Status status = ParsePageToken(text).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(GetFields(status) == std::vector<std::string>{"page_token"});
}

TEST_CASE("a token tells what the pages before were computed in") {
  const std::string longest(32, 'p');
  for (const auto& precisions :
       {Precisions{"float32", "int8"}, Precisions{"", ""}, Precisions{longest, ""}}) {
    for (const auto& reranked : {absl::optional<int>(), absl::optional<int>(0)}) {
      PageToken token = Sample();
      token.precisions = precisions;
      token.reranked = reranked;
      const auto read = ParsePageToken(ToText(token));
      REQUIRE(read.ok());
      REQUIRE(read->precisions.has_value());
      CHECK(read->precisions->encoder == precisions.encoder);
      CHECK(read->precisions->reranker == precisions.reranker);
      CHECK(read->reranked == reranked);
      CHECK(read->generation == token.generation);
    }
  }
  PageToken token = Sample();
  token.precisions = Precisions{longest + "p", ""};
  CheckRefused(ToText(token));
}

TEST_CASE("a token comes back whole") {
  for (const int offset : {1, 10, 255, 256, 999}) {
    PageToken token = Sample();
    token.offset = offset;
    if (offset == 10) token.item_generation.clear();
    if (offset == 1) token.generation = std::string(128, 'g');
    if (offset == 255) token.reranked = 0;
    if (offset == 256) token.reranked = 999;
    const auto read = ParsePageToken(ToText(token));
    REQUIRE(read.ok());
    CHECK(read->index == token.index);
    CHECK(read->generation == token.generation);
    CHECK(read->item_generation == token.item_generation);
    CHECK(read->request == token.request);
    CHECK(read->offset == offset);
    CHECK(read->reranked == token.reranked);
    CHECK_FALSE(read->precisions.has_value());
  }
}

TEST_CASE("a token tells what it goes on behind") {
  for (const auto& place : {PageToken::Place{0, 0, -1.5f}, PageToken::Place{9999, INT64_MAX, 3}}) {
    for (const bool precise : {false, true}) {
      PageToken token = Sample();
      token.behind = place;
      if (precise) {
        token.precisions = Precisions{"float32", ""};
        token.reranked = 3;
      }
      const auto read = ParsePageToken(ToText(token));
      REQUIRE(read.ok());
      REQUIRE(read->behind.has_value());
      CHECK(read->behind->shard == place.shard);
      CHECK(read->behind->row == place.row);
      CHECK(read->behind->score == place.score);
      CHECK(read->precisions.has_value() == precise);
      CHECK(read->reranked == token.reranked);
      CHECK(read->offset == token.offset);
    }
  }
}

TEST_CASE("the longest token fits into a request") {
  PageToken token = Sample();
  token.index = std::string(limits::kMaxIndexNameLength, 'i');
  token.generation = token.item_generation = std::string(limits::kMaxGenerationNameLength, 'g');
  token.precisions = Precisions{std::string(32, 'p'), std::string(32, 'p')};
  token.reranked = 1;
  token.behind = PageToken::Place{9999, INT64_MAX, 1};
  REQUIRE(ParsePageToken(ToText(token)).ok());
  CHECK(ToText(token).size() <= 1024);
}

TEST_CASE("a token can stand in a URL") {
  PageToken token = Sample();
  for (int byte = 0; byte < 256; ++byte) {
    token.request.assign(32, static_cast<char>(byte));
    CHECK(ToText(token).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                          "0123456789-_") == std::string::npos);
  }
}

TEST_CASE("no byte can be changed, lost or added") {
  PageToken token = Sample();
  token.reranked = GENERATE(absl::optional<int>(), absl::optional<int>(12));
  if (GENERATE(false, true)) token.behind = PageToken::Place{1, 2, 3};
  std::string bytes;
  REQUIRE(absl::WebSafeBase64Unescape(ToText(token), &bytes));
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      CheckRefused(absl::WebSafeBase64Escape(changed));
    }
    CheckRefused(absl::WebSafeBase64Escape(bytes.substr(0, i)));
    CheckRefused(absl::WebSafeBase64Escape(bytes.substr(i + 1)));
  }
  CheckRefused(absl::WebSafeBase64Escape(bytes + "x"));
}

TEST_CASE("a token of another version has expired") {
  std::string bytes;
  REQUIRE(absl::WebSafeBase64Unescape(ToText(Sample()), &bytes));
  for (const int version : {0, 1, 6, 255}) {
    std::string body = bytes.substr(0, bytes.size() - 4);
    body[0] = static_cast<char>(version);
    const uint32_t crc = Crc32c(body);
    for (int shift = 0; shift < 32; shift += 8) body.push_back(static_cast<char>(crc >> shift));
    const absl::Status status = ParsePageToken(absl::WebSafeBase64Escape(body)).status();
    CHECK(absl::IsFailedPrecondition(status));
    CHECK(HasReason(status, reasons::kPageTokenExpired));
  }
}

TEST_CASE("what has a good checksum must make sense too") {
  const auto with = [](void (*change)(PageToken*)) {
    PageToken token = Sample();
    change(&token);
    CheckRefused(ToText(token));
  };
  with([](PageToken* token) { token->offset = 0; });
  with([](PageToken* token) { token->offset = 1000; });
  with([](PageToken* token) { token->offset = 65535; });
  with([](PageToken* token) { token->index = ""; });
  with([](PageToken* token) { token->index = "../pictures"; });
  with([](PageToken* token) { token->generation = "\xff\xfe"; });
  with([](PageToken* token) { token->item_generation = "A B"; });
  with([](PageToken* token) { token->behind = PageToken::Place{-1, 0, 0}; });
  with([](PageToken* token) { token->behind = PageToken::Place{10'000, 0, 0}; });
  with([](PageToken* token) { token->behind = PageToken::Place{0, -1, 0}; });
  with([](PageToken* token) { token->behind = PageToken::Place{0, 0, NAN}; });
  with([](PageToken* token) { token->behind = PageToken::Place{0, 0, INFINITY}; });
  with([](PageToken* token) { token->request = "short"; });
  with([](PageToken* token) { token->request += "long"; });
}

TEST_CASE("what is not a token at all is refused") {
  for (const char* text : {" ", "next", "****", "AAAA", "\xc3\xa4", "=", "AQ=="})
    CheckRefused(text);
  CheckRefused(std::string(2000, 'A'));
  CheckRefused(std::string(1 << 20, '-'));
}

TEST_CASE("the fingerprint tells all requests apart that rank otherwise") {
  SearchRequest base;
  base.index = "pictures";
  base.query = TextQuery{"fish"};
  std::vector<std::string> seen = {FingerprintOf(base, 20), FingerprintOf(base, 21)};
  const auto add = [&](auto change) {
    SearchRequest request = base;
    change(&request);
    seen.push_back(FingerprintOf(request, 20));
  };
  add([](SearchRequest* r) { r->index = ""; });
  add([](SearchRequest* r) { r->top_k = 11; });
  add([](SearchRequest* r) { r->combination = Combination{}; });
  add([](SearchRequest* r) { r->combination = Combination{CombinationKind::kAddLambda, 0.5f}; });
  add([](SearchRequest* r) { r->combination = Combination{CombinationKind::kAddLambda, 0.6f}; });
  add([](SearchRequest* r) { r->reranker = "a"; });
  add([](SearchRequest* r) { r->reranker = "b"; });
  add([](SearchRequest* r) {
    r->reranker = "a";
    r->combination = Combination{};
  });
  add([](SearchRequest* r) { r->filter.any = {"a"}; });
  add([](SearchRequest* r) { r->filter.all = {"a"}; });
  add([](SearchRequest* r) { r->filter.none = {"a"}; });
  add([](SearchRequest* r) { r->filter.any = {"a", "b"}; });
  add([](SearchRequest* r) { r->filter.any = {"ab"}; });
  add([](SearchRequest* r) { r->effort.recall = 0.9f; });
  add([](SearchRequest* r) { r->effort.recall = 0.95f; });
  add([](SearchRequest* r) { r->effort.effort = 1; });
  add([](SearchRequest* r) { r->effort.effort = 2; });
  add([](SearchRequest* r) {
    r->filter.any = {"a"};
    r->effort.effort = 2;
  });
  add([](SearchRequest* r) { r->query = TextQuery{"fist"}; });
  add([](SearchRequest* r) { r->query = ImageQuery{"fish"}; });
  add([](SearchRequest* r) { r->query = ImageQuery{"fist"}; });
  add([](SearchRequest* r) { r->query = ImageQuery{"fishfish"}; });
  add([](SearchRequest* r) { r->query = ItemQuery{"", "fish"}; });
  add([](SearchRequest* r) { r->query = ItemQuery{"fish", ""}; });
  add([](SearchRequest* r) { r->query = ItemQuery{"fi", "sh"}; });
  add([](SearchRequest* r) { r->query = EmbeddingQuery{{1, 2}, "s"}; });
  add([](SearchRequest* r) { r->query = EmbeddingQuery{{1, 3}, "s"}; });
  add([](SearchRequest* r) { r->query = EmbeddingQuery{{1, 2}, "t"}; });
  const auto regions = [](auto change) {
    return [change](SearchRequest* r) {
      ImageInput image;
      image.regions = {2, 1, {1, 2}, {}};
      change(&image);
      r->query = RegionsQuery{image};
    };
  };
  add(regions([](ImageInput*) {}));
  add(regions([](ImageInput* image) { image->regions.count = 1; }));
  add(regions([](ImageInput* image) { image->regions.feature_size = 2; }));
  add(regions([](ImageInput* image) { image->regions.features[1] = 3; }));
  add(regions([](ImageInput* image) { image->regions.boxes = {0, 0, 1, 1}; }));
  add(regions([](ImageInput* image) { image->regions.confidences = {0, 0, 1, 1}; }));
  add(regions([](ImageInput* image) { image->ocr_tokens = {"a"}; }));
  add(regions([](ImageInput* image) { image->ocr_tokens = {"", "a"}; }));
  add(regions([](ImageInput* image) { image->tags = {"a"}; }));
  for (size_t i = 0; i < seen.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      CAPTURE(i, j);
      CHECK(seen[i] != seen[j]);
    }
  }
}

TEST_CASE("what does not rank does not count") {
  SearchRequest request;
  request.query = TextQuery{"fish"};
  const std::string before = FingerprintOf(request, 20);
  request.want_records = false;
  request.page_token = "anything";
  CHECK(FingerprintOf(request, 20) == before);
}

TEST_CASE("a token is for the index that the request names, if it names one") {
  const auto named = [](const std::string& index) {
    SearchRequest request;
    request.query = TextQuery{"fish"};
    request.index = index;
    PageToken token = Sample();
    token.request = FingerprintOf(request, 20);
    request.page_token = ToText(token);
    return TokenOf(request, 20, 20).status();
  };
  CHECK(named("").ok());
  CHECK(named("pictures").ok());
  CHECK(absl::IsInvalidArgument(named("captions")));
}

TEST_CASE("a token is of one of the two depths, and says which") {
  const auto read = [](int depth) {
    SearchRequest request;
    request.query = TextQuery{"fish"};
    PageToken token = Sample();
    token.request = FingerprintOf(request, depth);
    request.page_token = ToText(token);
    return TokenOf(request, 20, 0);
  };
  CHECK(read(20)->depth == 20);
  CHECK(read(0)->depth == 0);
  const absl::Status other = read(19).status();
  CHECK(HasReason(other, reasons::kPageTokenMismatch));
}

TEST_CASE("a token says how deep the list was reranked, if not as deep as it was to be") {
  const auto read = [](absl::optional<int> reranked) {
    SearchRequest request;
    request.query = TextQuery{"fish"};
    PageToken token = Sample();
    token.request = FingerprintOf(request, 20);
    token.reranked = reranked;
    request.page_token = ToText(token);
    return TokenOf(request, 20, 20);
  };
  CHECK(!read(absl::nullopt)->reranked.has_value());
  CHECK(read(0)->reranked == 0);
  CHECK(read(19)->reranked == 19);
  for (const int too_deep : {20, 21, 999}) {
    CHECK(GetFields(read(too_deep).status()) == std::vector<std::string>{"page_token"});
  }
}

}  // namespace
}  // namespace sightline
