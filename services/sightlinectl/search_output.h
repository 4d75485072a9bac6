// Answers of the router, for people and for programs.
#ifndef SIGHTLINE_SERVICES_SIGHTLINECTL_SEARCH_OUTPUT_H_
#define SIGHTLINE_SERVICES_SIGHTLINECTL_SEARCH_OUTPUT_H_

#include <string>

#include "common/api/search.h"

namespace sightline {

// One line per hit: rank, score, stage, id, caption, path.
std::string FormatHits(const SearchResult& result);

// The answers to one query without and with reranking side by side, at most 100 characters
// a line: of each hit the end of its id and, where there is room, its caption.  The title
// of the second column says what became of reranking.
std::string FormatComparison(const SearchResult& retrieved, const SearchResult& reranked);

// Where the answer comes from, what became of reranking, where the time went; and what
// is missing, if something is.
std::string FormatSummary(const SearchResult& result);

// sightline.v1.SearchItemsResponse as proto3 JSON, indented.
std::string SearchResultJson(SearchResult result);

// The match on one line, the two scores behind it on the next.
std::string FormatScore(const ScorePairsResult& result);

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_SIGHTLINECTL_SEARCH_OUTPUT_H_
