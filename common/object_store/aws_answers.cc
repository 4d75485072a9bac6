#include "common/object_store/aws_answers.h"

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"
#include "common/base/status_macros.h"
#include "common/formats/xml.h"

namespace sightline {
namespace {

constexpr size_t kMaxQuoted = 300;  // of an answer, in a message of ours
constexpr int64_t kMaxSmallBytes = 64 << 10;

absl::Status Unusable(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat("the store's answer cannot be used: ", what));
}

// The root of an answer, which has to have that name.
struct Answer {
  std::unique_ptr<pugi::xml_document> document;  // owns what `root` is in
  pugi::xml_node root;
};

absl::StatusOr<Answer> Parse(absl::string_view body, absl::string_view root, int64_t max_bytes) {
  if (static_cast<int64_t>(body.size()) > max_bytes) {
    return Unusable(absl::StrCat(body.size(), " bytes, where ", max_bytes, " are the most"));
  }
  auto document = ParseXml(body, "XML");
  if (!document.ok()) return Unusable(document.status().message());
  Answer answer{*std::move(document), {}};
  answer.root = answer.document->document_element();
  if (LocalName(answer.root.name()) == root) return answer;
  return Unusable(absl::StrCat("its root is <", CleanText(answer.root.name(), kMaxQuoted),
                               ">, not <", root, ">"));
}

absl::StatusOr<std::string> Text(const pugi::xml_node& node, const char* name) {
  const std::string text = node.child_value(name);
  if (!text.empty()) return text;
  return Unusable(absl::StrCat("<", node.name(), "> has no <", name, ">"));
}

absl::StatusOr<absl::Time> TimeIn(const pugi::xml_node& node, const char* name) {
  ASSIGN_OR_RETURN(const std::string text, Text(node, name));
  absl::Time time;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, nullptr)) return time;
  return Unusable(absl::StrCat("<", name, "> is no time: ", CleanText(text, kMaxQuoted)));
}

absl::StatusOr<std::string> PercentDecoded(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    uint32_t byte = 0;
    if (i + 2 >= text.size() || !absl::ascii_isxdigit(text[i + 1]) ||
        !absl::ascii_isxdigit(text[i + 2]) || !absl::SimpleHexAtoi(text.substr(i + 1, 2), &byte)) {
      return Unusable(absl::StrCat("a key is not percent-encoded: ", CleanText(text, kMaxQuoted)));
    }
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

// A key, or a marker, in a list; those of stores that know no encoding-type stand as they are.
absl::StatusOr<std::string> KeyIn(const pugi::xml_node& root, const pugi::xml_node& node,
                                  const char* name) {
  ASSIGN_OR_RETURN(std::string key, Text(node, name));
  if (absl::string_view(root.child_value("EncodingType")) == "url") return PercentDecoded(key);
  return key;
}

bool IsTruncated(const pugi::xml_node& root) {
  return absl::string_view(root.child_value("IsTruncated")) == "true";
}

absl::StatusOr<ObjectInfo> ReadObject(const pugi::xml_node& root, const pugi::xml_node& node) {
  ObjectInfo object;
  ASSIGN_OR_RETURN(object.key, KeyIn(root, node, "Key"));
  ASSIGN_OR_RETURN(object.write_time, TimeIn(node, "LastModified"));
  ASSIGN_OR_RETURN(const std::string size, Text(node, "Size"));
  if (absl::SimpleAtoi(size, &object.byte_count) && object.byte_count >= 0) return object;
  return Unusable(absl::StrCat("<Size> is no number of bytes: ", CleanText(size, kMaxQuoted)));
}

absl::StatusOr<PendingUpload> ReadUpload(const pugi::xml_node& root, const pugi::xml_node& node) {
  PendingUpload upload;
  ASSIGN_OR_RETURN(upload.key, KeyIn(root, node, "Key"));
  ASSIGN_OR_RETURN(upload.id, Text(node, "UploadId"));
  ASSIGN_OR_RETURN(upload.begun, TimeIn(node, "Initiated"));
  return upload;
}

std::string Quoted(const pugi::xml_node& node, const char* name) {
  return CleanText(node.child_value(name), kMaxQuoted);
}

}  // namespace

AwsError ReadAwsError(absl::string_view body) {
  absl::StatusOr<Answer> answer = Parse(body, "Error", kMaxSmallBytes);
  if (answer.ok()) {
    const pugi::xml_node& root = answer->root;
    return {Quoted(root, "Code"), Quoted(root, "Message"), Quoted(root, "Region")};
  }
  // STS puts its own one level deeper.
  answer = Parse(body, "ErrorResponse", kMaxSmallBytes);
  if (!answer.ok()) return {};
  const pugi::xml_node error = answer->root.child("Error");
  return {Quoted(error, "Code"), Quoted(error, "Message"), ""};
}

absl::StatusOr<ObjectPage> ReadObjectPage(absl::string_view body) {
  ASSIGN_OR_RETURN(const Answer answer, Parse(body, "ListBucketResult", kMaxListBytes));
  ObjectPage page;
  for (const pugi::xml_node& node : answer.root.children("Contents")) {
    ASSIGN_OR_RETURN(ObjectInfo object, ReadObject(answer.root, node));
    page.objects.push_back(std::move(object));
  }
  if (IsTruncated(answer.root)) {
    ASSIGN_OR_RETURN(page.next, Text(answer.root, "NextContinuationToken"));
  }
  return page;
}

absl::StatusOr<UploadPage> ReadUploadPage(absl::string_view body) {
  ASSIGN_OR_RETURN(const Answer answer, Parse(body, "ListMultipartUploadsResult", kMaxListBytes));
  UploadPage page;
  for (const pugi::xml_node& node : answer.root.children("Upload")) {
    ASSIGN_OR_RETURN(PendingUpload upload, ReadUpload(answer.root, node));
    page.uploads.push_back(std::move(upload));
  }
  page.more = IsTruncated(answer.root);
  if (page.more) {
    ASSIGN_OR_RETURN(page.next_key, KeyIn(answer.root, answer.root, "NextKeyMarker"));
    ASSIGN_OR_RETURN(page.next_id, Text(answer.root, "NextUploadIdMarker"));
  }
  return page;
}

absl::StatusOr<std::string> ReadUploadId(absl::string_view body) {
  ASSIGN_OR_RETURN(const Answer answer,
                   Parse(body, "InitiateMultipartUploadResult", kMaxSmallBytes));
  return Text(answer.root, "UploadId");
}

bool IsUploadComplete(absl::string_view body) {
  return Parse(body, "CompleteMultipartUploadResult", kMaxSmallBytes).ok();
}

absl::StatusOr<ExpiringKeys> ReadStsKeys(absl::string_view body) {
  ASSIGN_OR_RETURN(const Answer answer,
                   Parse(body, "AssumeRoleWithWebIdentityResponse", kMaxSmallBytes));
  const pugi::xml_node node =
      answer.root.child("AssumeRoleWithWebIdentityResult").child("Credentials");
  ExpiringKeys found;
  ASSIGN_OR_RETURN(found.keys.access_key_id, Text(node, "AccessKeyId"));
  ASSIGN_OR_RETURN(found.keys.secret_access_key, Text(node, "SecretAccessKey"));
  ASSIGN_OR_RETURN(found.keys.session_token, Text(node, "SessionToken"));
  ASSIGN_OR_RETURN(found.expiry, TimeIn(node, "Expiration"));
  return found;
}

absl::StatusOr<ExpiringKeys> ReadAgentKeys(absl::string_view body) {
  // None of the values is quoted: they are secrets.
  const absl::Status wrong =
      Unusable("no JSON with the texts AccessKeyId, SecretAccessKey, Token and Expiration");
  if (static_cast<int64_t>(body.size()) > kMaxSmallBytes) return wrong;
  const nlohmann::json json = nlohmann::json::parse(body.begin(), body.end(), nullptr, false);
  if (!json.is_object()) return wrong;
  std::string expiry;
  ExpiringKeys found;
  for (const auto& [name, to] :
       {std::pair("AccessKeyId", &found.keys.access_key_id),
        std::pair("SecretAccessKey", &found.keys.secret_access_key),
        std::pair("Token", &found.keys.session_token), std::pair("Expiration", &expiry)}) {
    const auto field = json.find(name);
    if (field == json.end() || !field->is_string()) return wrong;
    *to = field->get<std::string>();
  }
  if (!absl::ParseTime(absl::RFC3339_full, expiry, &found.expiry, nullptr)) return wrong;
  return found;
}

}  // namespace sightline
