// Any bytes as what S3, STS and agents answer: an error, or what has each field that it must.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/utf8.h"
#include "common/object_store/aws_answers.h"

namespace {

constexpr size_t kMaxInput = 32 << 10;

void Require(bool condition) {
  if (!condition) std::abort();
}

// A result, or UNAVAILABLE with a message that may be logged.
template <typename Result>
bool IsResult(const Result& result) {
  if (result.ok()) return true;
  Require(absl::IsUnavailable(result.status()));
  Require(result.status().message().size() < 2000);
  return false;
}

void CheckKeys(const absl::StatusOr<sightline::ExpiringKeys>& found) {
  if (IsResult(found)) Require(found->expiry <= absl::InfiniteFuture());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMaxInput) return 0;
  const absl::string_view body(reinterpret_cast<const char*>(data), size);
  const auto objects = sightline::ReadObjectPage(body);
  if (IsResult(objects)) {
    for (const auto& object : objects->objects) {
      Require(!object.key.empty() && object.byte_count >= 0);
    }
  }
  const auto uploads = sightline::ReadUploadPage(body);
  if (IsResult(uploads)) {
    for (const auto& upload : uploads->uploads) Require(!upload.key.empty() && !upload.id.empty());
    Require(!uploads->more || !uploads->next_id.empty());
  }
  const auto id = sightline::ReadUploadId(body);
  if (IsResult(id)) Require(!id->empty());
  const sightline::AwsError error = sightline::ReadAwsError(body);
  Require(error.code.size() <= 300 && error.message.size() <= 300 && error.region.size() <= 300);
  Require(sightline::IsValidUtf8(error.message));
  Require(!sightline::IsUploadComplete(body) || error.code.empty());
  CheckKeys(sightline::ReadStsKeys(body));
  CheckKeys(sightline::ReadAgentKeys(body));
  return 0;
}
