// What a generation's index is worth, and why it was chosen: for people, beside its files, where
// no program reads it.
#ifndef SIGHTLINE_COMMON_INDEXING_INDEX_REPORT_H_
#define SIGHTLINE_COMMON_INDEXING_INDEX_REPORT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/index/index_choice.h"
#include "common/index/index_kind.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

inline constexpr absl::string_view kReportFile = "index_report.json";
inline constexpr absl::string_view kReportPage = "index_report.html";

// The spec; of each shard its items, bytes of its index files, in memory, and efforts; and, where
// the index was chosen, target, sample, and what was tried, with its verdict.
std::string IndexReportJson(const bundle::v1::GenerationManifest& manifest, const IndexKind& kind,
                            const absl::optional<IndexChoice>& choice);

// The same as a page: recall among ten over the time of a query on one thread, a colour for each
// kind and code that was tried, what was chosen and the generation's shards over them; and tables.
std::string IndexReportPage(const bundle::v1::GenerationManifest& manifest, const IndexKind& kind,
                            const absl::optional<IndexChoice>& choice);

// Writes both to `directory`.
absl::Status WriteIndexReport(absl::string_view directory,
                              const bundle::v1::GenerationManifest& manifest, const IndexKind& kind,
                              const absl::optional<IndexChoice>& choice);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_INDEXING_INDEX_REPORT_H_
