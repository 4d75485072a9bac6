#include "loadtest/fleet/server_yaml.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace sightline {
namespace {

std::string ServerSection(absl::string_view listen) {
  return absl::StrCat("server:\n", ListenLine(listen), "  metrics_listen: '127.0.0.1:0'\n");
}

std::string List(const std::vector<std::string>& texts) {
  return absl::StrCat("[",
                      absl::StrJoin(texts, ", ",
                                    [](std::string* out, const std::string& text) {
                                      out->append(QuotedYaml(text));
                                    }),
                      "]");
}

}  // namespace

std::string ListenLine(absl::string_view listen) {
  return absl::StrCat("  listen: ", QuotedYaml(listen), "\n");
}

std::string QuotedYaml(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

std::string BackendYaml(absl::string_view listen, absl::string_view store,
                        const std::vector<std::string>& indexes, absl::string_view more) {
  return absl::StrCat(ServerSection(listen), "store: ", QuotedYaml(store),
                      "\nindexes: ", List(indexes), "\n", more);
}

std::string RouterYaml(absl::string_view listen, const RouterBackends& backends,
                       const std::vector<std::string>& indexes, absl::string_view more) {
  std::string yaml = absl::StrCat(ServerSection(listen), "encoders: ", List(backends.encoders),
                                  "\nrerankers: ", List(backends.rerankers), "\nindexes:\n");
  for (const std::string& index : indexes) {
    absl::StrAppend(&yaml, "  ", QuotedYaml(index), ":\n    shards:\n");
    for (const std::vector<std::string>& replicas : backends.shards) {
      absl::StrAppend(&yaml, "      - addresses: ", List(replicas), "\n");
    }
  }
  return absl::StrCat(yaml, more);
}

}  // namespace sightline
