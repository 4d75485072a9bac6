#include "common/retrieval/page_token.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/byte_reader.h"
#include "common/base/checksum.h"
#include "common/base/error_details.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/bundle/layout.h"

namespace sightline {
namespace {

constexpr char kField[] = "page_token";

// Version, fingerprint, offset (little-endian), three names with their lengths, CRC32C of
// all that.  The version is another one when any of these is, or what the fingerprint is taken
// over; while routers of two versions answer, pages end where one meets the other's token.
constexpr char kVersion = 2;
constexpr size_t kFingerprintBytes = 32;

// Feeds a hash so that no two requests feed it alike: every value with its length.
class Hasher {
 public:
  void Add(absl::string_view bytes) {
    AddNumber(static_cast<int64_t>(bytes.size()));
    hash_.Update(bytes);
  }
  void AddNumber(int64_t number) {
    std::string bytes;
    AppendLittleEndian(number, &bytes);
    hash_.Update(bytes);
  }
  void AddFloats(const std::vector<float>& values) { Add(BytesOfNumbers(values)); }
  // Many MiB, and of each search that has more hits than it gives: a CRC-32C takes a
  // hundredth of the time and tells uploads apart that differ by accident.
  void AddUpload(absl::string_view bytes) {
    AddNumber(static_cast<int64_t>(bytes.size()));
    AddNumber(Crc32c(bytes));
  }
  void AddWords(const std::vector<std::string>& words) {
    AddNumber(static_cast<int64_t>(words.size()));
    for (const std::string& word : words) Add(word);
  }
  std::string Raw() { return hash_.Raw(); }

  // The queries.
  void operator()(const TextQuery& query) { Add(query.text); }
  void operator()(const ImageQuery& query) { AddUpload(*query.bytes); }
  void operator()(const RegionsQuery& query) {
    const RegionSet& regions = query.image->regions;
    AddNumber(regions.count);
    AddNumber(regions.feature_size);
    AddUpload(BytesOfNumbers(regions.features));
    AddFloats(regions.boxes);
    AddFloats(regions.box_sizes);
    AddFloats(regions.confidences);
    AddWords(query.image->ocr_tokens);
    AddWords(query.image->tags);
  }
  void operator()(const EmbeddingQuery& query) {
    AddFloats(query.values);
    Add(query.space);
  }
  void operator()(const ItemQuery& query) {
    Add(query.index);
    Add(query.item_id);
  }

 private:
  Sha256 hash_;
};

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

absl::Status NoToken() {
  return InvalidField(kField, "is none; give what an answer had as next_page_token, unchanged");
}

absl::Status OtherVersion(int version) {
  return MakeError(
      reasons::kPageTokenExpired,
      absl::StrCat(kField, " is of version ", version, "; this router makes and reads version ",
                   static_cast<int>(kVersion), ": ask again from the first page"));
}

bool IsPossible(const PageToken& token) {
  return IsValidName(token.index, limits::kMaxIndexNameLength) &&
         IsValidName(token.generation, limits::kMaxGenerationNameLength) &&
         (token.item_generation.empty() ||
          IsValidName(token.item_generation, limits::kMaxGenerationNameLength)) &&
         token.offset > 0 && token.offset < limits::kMaxHits;
}

}  // namespace

std::string FingerprintOf(const SearchRequest& request, int depth) {
  Hasher hasher;
  hasher.Add(request.index);
  hasher.AddNumber(static_cast<int64_t>(request.query.index()));
  std::visit([&hasher](const auto& query) { hasher(query); }, request.query);
  hasher.AddNumber(request.top_k);
  hasher.AddNumber(depth);
  hasher.AddNumber(request.combination.has_value());
  if (request.combination.has_value()) {
    hasher.AddNumber(static_cast<int64_t>(request.combination->kind));
    hasher.AddFloats({request.combination->lambda});
  }
  hasher.Add(request.reranker);
  return hasher.Raw();
}

std::string ToText(const PageToken& token) {
  std::string bytes(1, kVersion);
  bytes.append(token.request);
  AppendLittleEndian(static_cast<uint16_t>(token.offset), &bytes);
  AppendName(token.index, &bytes);
  AppendName(token.generation, &bytes);
  AppendName(token.item_generation, &bytes);
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
  if (version != kVersion) return OtherVersion(version);
  PageToken token;
  token.request = std::string(reader.Bytes(kFingerprintBytes));
  token.offset = reader.Number<uint16_t>();
  token.index = TakeName(reader);
  token.generation = TakeName(reader);
  token.item_generation = TakeName(reader);
  if (!reader.ok() || reader.left() > 0 || !IsPossible(token)) return NoToken();
  return token;
}

absl::StatusOr<PageToken> TokenOf(const SearchRequest& request, int depth, int other_depth) {
  ASSIGN_OR_RETURN(PageToken token, ParsePageToken(request.page_token));
  if (!request.index.empty() && request.index != token.index) return PageTokenMismatch();
  token.depth = depth;
  if (token.request == FingerprintOf(request, depth)) return token;
  if (other_depth == depth) return PageTokenMismatch();
  token.depth = other_depth;
  if (token.request == FingerprintOf(request, other_depth)) return token;
  return PageTokenMismatch();
}

absl::Status PageTokenMismatch() {
  return WithReason(
      InvalidField(kField,
                   "belongs to another request; send it with the index, query, top_k, "
                   "rerank_depth, combination and reranker that it was answered to"),
      reasons::kPageTokenMismatch, {{"field", kField}});
}

absl::Status PageTokenExpired(const PageToken& token) {
  return MakeError(
      reasons::kPageTokenExpired,
      absl::StrCat(kField, " is of generation '", token.generation, "' of index '", token.index,
                   "', which is not served any more; ask again from the first page"),
      {{"index", token.index}, {"generation", token.generation}});
}

}  // namespace sightline
