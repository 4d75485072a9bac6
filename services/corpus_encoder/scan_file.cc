#include "services/corpus_encoder/scan_file.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/call_context.h"
#include "common/base/checksum.h"
#include "common/base/status_macros.h"
#include "common/bundle/container.h"
#include "services/corpus_encoder/field_hash.h"
#include "services/corpus_encoder/work_folder.h"

namespace sightline {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::string_view kScanFormat = "sightline scan 1";

}  // namespace

std::string StretchHash(absl::Span<const ScannedPicture> stretch, int64_t max_picture_bytes) {
  FieldHash hash;
  hash.Add(kScanFormat);
  hash.AddNumber(max_picture_bytes);
  for (const ScannedPicture& picture : stretch) {
    hash.Add(picture.item.item_id);
    hash.Add(picture.item.path);
    hash.Add(picture.reader->PictureVersion(picture.item));
  }
  return hash.Hex();
}

absl::Status WriteScanFile(const std::string& path, absl::string_view hash,
                           const PictureScan& scan) {
  Json pictures = Json::array();
  for (size_t i = 0; i < scan.sha256.size(); ++i) {
    if (scan.reasons[i].empty()) {
      pictures.push_back(scan.sha256[i]);
    } else {
      pictures.push_back({{"rejected", scan.reasons[i]}});
    }
  }
  const Json json = {{"hash", std::string(hash)}, {"pictures", std::move(pictures)}};
  const std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  RETURN_IF_ERROR(MakeFolderOf(path));
  ASSIGN_OR_RETURN(const std::unique_ptr<ContainerWriter> writer, ContainerWriter::Create(path));
  RETURN_IF_ERROR(writer->Declare("scan", Dtype::kBytes, {static_cast<int64_t>(text.size())}));
  RETURN_IF_ERROR(writer->Append(text));
  return writer->Finish().status();
}

absl::StatusOr<PictureScan> ReadScanFile(const std::string& path, absl::string_view hash,
                                         size_t count) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Container> container, Container::Open(path));
  ASSIGN_OR_RETURN(const Section* section, container->Require("scan", Dtype::kBytes, 1));
  ASSIGN_OR_RETURN(const SectionBytes scanned, container->Load(*section, CallContext::Unbounded()));
  const absl::string_view text = scanned.view();
  const Json json = Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  const absl::Status malformed = absl::DataLossError(absl::StrCat(path, " is no scan"));
  if (!json.is_object() || json.value("hash", Json()) != std::string(hash)) return malformed;
  const Json pictures = json.value("pictures", Json());
  if (!pictures.is_array() || pictures.size() != count) return malformed;
  PictureScan scan;
  for (const Json& picture : pictures) {
    const Json reason = picture.is_object() ? picture.value("rejected", Json()) : Json("");
    const Json sha256 = picture.is_object() ? Json("") : picture;
    if (!reason.is_string() || !sha256.is_string()) return malformed;
    scan.reasons.push_back(reason.get<std::string>());
    scan.sha256.push_back(sha256.get<std::string>());
    if (scan.reasons.back().empty() != IsSha256Hex(scan.sha256.back())) return malformed;
  }
  return scan;
}

}  // namespace sightline
