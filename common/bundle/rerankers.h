// The cross-encoders of a generation, by name.
//
// A generation has item features for each of them, and a request may name one.  Manifests
// tell of them in two fields, the older of which knows one; only this file and the checks
// of manifest.h read those.
#ifndef SIGHTLINE_COMMON_BUNDLE_RERANKERS_H_
#define SIGHTLINE_COMMON_BUNDLE_RERANKERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {

// Of the one in a generation that gives none a name.
inline constexpr char kDefaultReranker[] = "default";

struct NamedReranker {
  std::string name;
  std::string model;  // SHA-256 of the bundle
};
inline bool operator==(const NamedReranker& a, const NamedReranker& b) {
  return a.name == b.name && a.model == b.model;
}

// Those of a sound manifest, the default first; none if it is retrieval only.
std::vector<NamedReranker> RerankersOf(const bundle::v1::GenerationManifest& manifest);

// Of all bundles that a generation needs: its encoder's and its cross-encoders', sorted.
std::vector<std::string> ModelsOf(const bundle::v1::GenerationManifest& manifest);

// Makes them the manifest's; the first is the default.
void SetRerankers(absl::Span<const NamedReranker> rerankers,
                  bundle::v1::GenerationManifest* manifest);

// InvalidArgument unless names and models are what they should be, each once, and not more
// than a generation may have.
absl::Status CheckRerankers(absl::Span<const NamedReranker> rerankers);

// "MODEL" for a default that needs no name, else "NAME=MODEL"; with commas between.
std::string RerankersText(absl::Span<const NamedReranker> rerankers);

// InvalidArgument (UNKNOWN_RERANKER): `name` is none of `known`.
absl::Status UnknownReranker(absl::string_view name, const std::vector<std::string>& known);

// The entry, of those of one generation, that `name` chooses: for an empty name the first,
// or null if there is none.  UnknownReranker for another name than they have.
template <typename Entry>
absl::StatusOr<const Entry*> FindReranker(const std::vector<Entry>& entries,
                                          absl::string_view name) {
  if (name.empty()) return entries.empty() ? nullptr : &entries.front();
  std::vector<std::string> known;
  for (const Entry& entry : entries) {
    if (entry.name == name) return &entry;
    known.push_back(entry.name);
  }
  return UnknownReranker(name, known);
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BUNDLE_RERANKERS_H_
