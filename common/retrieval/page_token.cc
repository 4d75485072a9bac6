#include "common/retrieval/page_token.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/byte_reader.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"
#include "common/retrieval/request_hash.h"

namespace sightline {
namespace {

constexpr char kField[] = "page_token";

// Version, fingerprint, offset (little-endian), three names with their lengths, CRC32C of
// all that.  The version is another one when any of these is, or what the fingerprint is taken
// over; while routers of two versions answer, pages end where one meets the other's token.
constexpr char kVersion = 2;
// The same with the depth that was reranked behind the offset, where that is less than asked.
constexpr char kReducedVersion = 3;
// The same with a depth in any case, or kAll, and behind the names the two precisions.
constexpr char kPreciseVersion = 4;
// The same, of a list that goes on behind a candidate: whether there are precisions, those, and
// the candidate.
constexpr char kBehindVersion = 5;
constexpr uint16_t kAll = 0xFFFF;  // is reranked that was asked
constexpr size_t kFingerprintBytes = 32;

void AppendName(const std::string& name, std::string* out) {
  out->push_back(static_cast<char>(name.size()));
  out->append(name);
}

void AppendChecksum(std::string* out) {
  AppendLittleEndian(Crc32c(*out), out);
}

std::string TakeName(ByteReader& bytes) {
  return std::string(bytes.Bytes(bytes.Number<uint8_t>()));
}

absl::optional<int> TakeDepth(ByteReader& bytes, int version) {
  const int depth = bytes.Number<uint16_t>();
  return version >= kPreciseVersion && depth == kAll ? absl::nullopt : absl::make_optional(depth);
}

Precisions TakePrecisions(ByteReader& bytes) {
  std::string encoder = TakeName(bytes);
  return {std::move(encoder), TakeName(bytes)};
}

PageToken::Place TakePlace(ByteReader& bytes) {
  PageToken::Place place;
  place.shard = bytes.Number<int32_t>();
  place.row = bytes.Number<int64_t>();
  place.score = bytes.Number<float>();
  return place;
}

char VersionOf(const PageToken& token) {
  if (token.behind.has_value()) return kBehindVersion;
  if (token.precisions.has_value()) return kPreciseVersion;
  return token.reranked.has_value() ? kReducedVersion : kVersion;
}

absl::Status NoToken() {
  return InvalidField(kField, "is none; give what an answer had as next_page_token, unchanged");
}

absl::Status OtherVersion(int version) {
  return MakeError(reasons::kPageTokenExpired,
                   absl::StrCat(kField, " is of version ", version, "; this router makes ",
                                static_cast<int>(kBehindVersion), " and reads those from ",
                                static_cast<int>(kVersion), " on: ask again from the first page"));
}

bool IsPossible(const absl::optional<Precisions>& precisions) {
  return !precisions.has_value() || (precisions->encoder.size() <= limits::kMaxPrecisionBytes &&
                                     precisions->reranker.size() <= limits::kMaxPrecisionBytes);
}

bool IsPossible(const absl::optional<PageToken::Place>& place) {
  return !place.has_value() || (place->shard >= 0 && place->shard < limits::kMaxShards &&
                                place->row >= 0 && std::isfinite(place->score));
}

bool IsPossible(const PageToken& token) {
  return IsValidName(token.index, limits::kMaxIndexNameLength) &&
         IsValidName(token.generation, limits::kMaxGenerationNameLength) &&
         (token.item_generation.empty() ||
          IsValidName(token.item_generation, limits::kMaxGenerationNameLength)) &&
         IsPossible(token.precisions) && IsPossible(token.behind) && token.offset > 0 &&
         token.offset < limits::kMaxHits;
}

}  // namespace

std::string FingerprintOf(const SearchRequest& request, int list_depth) {
  // Nearly every search has a next page, and few ask for it.
  RequestHash hash(RequestHash::Uploads::kByChecksum);
  const auto& [index, query, top_k, depth, combination, reranker, filter, effort, want_records,
               page_token] = request;
  hash.Add(index);
  hash.AddQuery(query);
  hash.AddNumber(top_k);
  hash.AddNumber(list_depth);  // in place of `depth`
  hash.AddNumber(combination.has_value());
  if (combination.has_value()) hash.AddCombination(*combination);
  hash.Add(reranker);
  // A request with neither has the fingerprint that it had before there were these.
  const auto& [recall, how_hard] = effort;
  if (!filter.empty() || recall.has_value() || how_hard.has_value()) {
    hash.AddFilter(filter);
    hash.AddEffort(effort);
  }
  return hash.Raw();
}

std::string ToText(const PageToken& token) {
  const char version = VersionOf(token);
  std::string bytes(1, version);
  bytes.append(token.request);
  AppendLittleEndian(static_cast<uint16_t>(token.offset), &bytes);
  if (version != kVersion) {
    AppendLittleEndian(static_cast<uint16_t>(token.reranked.value_or(kAll)), &bytes);
  }
  AppendName(token.index, &bytes);
  AppendName(token.generation, &bytes);
  AppendName(token.item_generation, &bytes);
  if (version == kBehindVersion) bytes.push_back(token.precisions.has_value());
  if (token.precisions.has_value()) {
    AppendName(token.precisions->encoder, &bytes);
    AppendName(token.precisions->reranker, &bytes);
  }
  if (token.behind.has_value()) {
    AppendLittleEndian(static_cast<int32_t>(token.behind->shard), &bytes);
    AppendLittleEndian(token.behind->row, &bytes);
    AppendLittleEndian(token.behind->score, &bytes);
  }
  AppendChecksum(&bytes);
  return absl::WebSafeBase64Escape(bytes);
}

absl::StatusOr<PageToken> ParsePageToken(absl::string_view text) {
  std::string bytes;
  if (text.size() > limits::kMaxNameBytes) return NoToken();
  if (!absl::WebSafeBase64Unescape(text, &bytes)) return NoToken();
  if (bytes.size() < sizeof(uint32_t)) return NoToken();
  std::string body = bytes.substr(0, bytes.size() - sizeof(uint32_t));
  AppendChecksum(&body);
  if (body != bytes) return NoToken();

  ByteReader reader(absl::string_view(bytes).substr(0, bytes.size() - sizeof(uint32_t)));
  const int version = reader.Number<uint8_t>();
  if (version < kVersion || version > kBehindVersion) return OtherVersion(version);
  PageToken token;
  token.request = std::string(reader.Bytes(kFingerprintBytes));
  token.offset = reader.Number<uint16_t>();
  if (version != kVersion) token.reranked = TakeDepth(reader, version);
  token.index = TakeName(reader);
  token.generation = TakeName(reader);
  token.item_generation = TakeName(reader);
  const bool precise =
      version == kBehindVersion ? reader.Number<uint8_t>() != 0 : version == kPreciseVersion;
  if (precise) token.precisions = TakePrecisions(reader);
  if (version == kBehindVersion) token.behind = TakePlace(reader);
  if (!reader.ok() || reader.left() > 0 || !IsPossible(token)) return NoToken();
  return token;
}

absl::StatusOr<PageToken> TokenOf(const SearchRequest& request, int depth, int other_depth) {
  ASSIGN_OR_RETURN(PageToken token, ParsePageToken(request.page_token));
  if (!request.index.empty() && request.index != token.index) return PageTokenMismatch();
  token.depth = depth;
  if (token.request != FingerprintOf(request, depth)) {
    token.depth = other_depth;
    if (other_depth == depth || token.request != FingerprintOf(request, other_depth)) {
      return PageTokenMismatch();
    }
  }
  if (token.reranked.has_value() && *token.reranked >= token.depth) return NoToken();
  return token;
}

absl::Status PageTokenMismatch() {
  return WithReason(
      InvalidField(kField,
                   "belongs to another request; send it with the index, query, top_k, "
                   "rerank_depth, combination, reranker, filter and effort that it was answered "
                   "to"),
      reasons::kPageTokenMismatch, {{"field", kField}});
}

absl::Status PageTokenExpired(const PageToken& token) {
  return MakeError(
      reasons::kPageTokenExpired,
      absl::StrCat(kField, " is of generation '", token.generation, "' of index '", token.index,
                   "', which is not served any more; ask again from the first page"),
      {{"index", token.index}, {"generation", token.generation}});
}

absl::Status PageTokenExpired(const GenerationRef& of, const absl::Status& why) {
  return MakeError(
      reasons::kPageTokenExpired,
      absl::StrCat(kField, " goes on with what was computed of generation '", of.generation,
                   "' of index '", of.index, "' by servers that are not there any more (",
                   why.message(), "); ask again from the first page"),
      {{"index", of.index}, {"generation", of.generation}});
}

}  // namespace sightline
