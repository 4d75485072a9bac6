#include "services/corpus_encoder/scan_share.h"

#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/checksum.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/bundle/container.h"
#include "services/corpus_encoder/field_hash.h"

namespace sightline {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::string_view kScanFormat = "sightline scan 1";

std::vector<absl::Span<const ScannedPicture>> Stretches(absl::Span<const ScannedPicture> listed) {
  std::vector<absl::Span<const ScannedPicture>> stretches;
  for (size_t i = 0; i < listed.size(); i += kScanStretch) {
    stretches.push_back(listed.subspan(i, kScanStretch));
  }
  return stretches;
}

std::string HashOf(absl::Span<const ScannedPicture> stretch, const ScanOptions& options) {
  FieldHash hash;
  hash.Add(kScanFormat);
  hash.AddNumber(options.max_picture_bytes);
  for (const ScannedPicture& picture : stretch) {
    hash.Add(picture.item.item_id);
    hash.Add(picture.item.path);
    hash.Add(picture.reader->PictureVersion(picture.item));
  }
  return hash.Hex();
}

absl::Status WriteStretch(const std::string& path, const std::string& hash,
                          const PictureScan& scan) {
  Json pictures = Json::array();
  for (size_t i = 0; i < scan.sha256.size(); ++i) {
    if (scan.reasons[i].empty()) {
      pictures.push_back(scan.sha256[i]);
    } else {
      pictures.push_back({{"rejected", scan.reasons[i]}});
    }
  }
  const Json json = {{"hash", hash}, {"pictures", std::move(pictures)}};
  const std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  ASSIGN_OR_RETURN(const std::unique_ptr<ContainerWriter> writer, ContainerWriter::Create(path));
  RETURN_IF_ERROR(writer->Declare("scan", Dtype::kBytes, {static_cast<int64_t>(text.size())}));
  RETURN_IF_ERROR(writer->Append(text));
  return writer->Finish().status();
}

// DataLoss for a file that is damaged or holds something else.
absl::StatusOr<PictureScan> ReadStretch(const std::string& path, const std::string& hash,
                                        size_t count) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Container> container, Container::Map(path));
  RETURN_IF_ERROR(container->Verify());
  ASSIGN_OR_RETURN(const Section* section, container->Require("scan", Dtype::kBytes, 1));
  const Json json = Json::parse(section->data, section->data + section->length, /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  const absl::Status malformed = absl::DataLossError(absl::StrCat(path, " is no scan"));
  if (!json.is_object() || json.value("hash", Json()) != hash) return malformed;
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

void Append(PictureScan part, PictureScan& scan) {
  std::move(part.sha256.begin(), part.sha256.end(), std::back_inserter(scan.sha256));
  std::move(part.reasons.begin(), part.reasons.end(), std::back_inserter(scan.reasons));
}

// The stretches as files of the work folder.
std::vector<WorkPiece> PiecesOf(const std::vector<absl::Span<const ScannedPicture>>& stretches,
                                const ScanOptions& options) {
  std::vector<WorkPiece> pieces;
  for (const absl::Span<const ScannedPicture> stretch : stretches) {
    std::string hash = HashOf(stretch, options);
    pieces.push_back({hash, absl::StrCat(hash, ".scan")});
  }
  return pieces;
}

}  // namespace

absl::StatusOr<PictureScan> ScanTogether(absl::Span<const ScannedPicture> listed,
                                         const ScanOptions& options, const CallContext& call,
                                         Progress* progress) {
  const auto stretches = Stretches(listed);
  const std::vector<WorkPiece> pieces = PiecesOf(stretches, options);
  const auto path = [&](size_t i) { return JoinPath(options.work_directory, pieces[i].file); };
  int64_t own_count = 0;
  std::vector<WorkPiece> of_others;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (options.share.Owns(pieces[i].hash)) {
      own_count += static_cast<int64_t>(stretches[i].size());
    } else {
      of_others.push_back(pieces[i]);
    }
  }
  PictureScan scan;
  progress->Begin("read", "pictures", own_count);
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!options.share.Owns(pieces[i].hash)) continue;
    // Read here, and read back below with those of the others.
    if (ReadStretch(path(i), pieces[i].hash, stretches[i].size()).ok()) {
      progress->Skip(static_cast<int64_t>(stretches[i].size()));
      continue;
    }
    ASSIGN_OR_RETURN(const PictureScan own, ScanPictures(stretches[i], options, call, progress));
    RETURN_IF_ERROR(WriteStretch(path(i), pieces[i].hash, own));
    scan.byte_count += own.byte_count;
    scan.read_count += own.read_count;
  }
  progress->End();
  const absl::Time own_done = call.clock()->Now();
  RETURN_IF_ERROR(AwaitPieces(options.work_directory, std::move(of_others), "scans", options.share,
                              options.await, call, progress));
  scan.await_time = call.clock()->Now() - own_done;
  for (size_t i = 0; i < pieces.size(); ++i) {
    absl::StatusOr<PictureScan> part = ReadStretch(path(i), pieces[i].hash, stretches[i].size());
    if (absl::IsDataLoss(part.status())) {
      return absl::DataLossError(absl::StrCat(part.status().message(), "; run worker ",
                                              options.share.OwnerOf(pieces[i].hash),
                                              " again, which makes it anew"));
    }
    RETURN_IF_ERROR(part.status());
    Append(*std::move(part), scan);
    scan.files.push_back(pieces[i].file);
  }
  return scan;
}

}  // namespace sightline
