#include "tests/compatibility/wire_samples.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error_details.h"
#include "common/base/error_reasons.h"
#include "common/base/status_macros.h"
#include "common/clients/convert.h"
#include "common/clients/convert_admin.h"
#include "common/clients/convert_backends.h"
#include "common/clients/convert_search.h"
#include "common/retrieval/page_token.h"
#include "common/rpc/grpc_status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "sightline/bundle/v1/generation.pb.h"
#include "sightline/bundle/v1/model_bundle.pb.h"
#include "tests/support/wire_message.h"

namespace sightline {
namespace {

using google::protobuf::Message;

std::string Bytes(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

const GenerationRef kPictures{"pictures", "g2", std::string(64, 'a')};
const GenerationRef kWords{"words", "g1", std::string(64, 'b')};

// A message that `write` makes of `plain` and `read` reads.
template <typename M, typename Plain, typename Write, typename Read>
WireSample Sample(std::string name, const Plain& plain, const Write& write, const Read& read) {
  M message;
  write(plain, &message);
  const auto read_and_written = [=](const std::string& bytes) -> absl::StatusOr<std::string> {
    M received;
    if (!received.ParseFromString(bytes)) return absl::DataLossError("no message of this type");
    ASSIGN_OR_RETURN(const Plain again, read(received));
    M written;
    write(again, &written);
    return Bytes(written);
  };
  return {absl::StrCat("wire/", name, ".binpb"), Bytes(message), read_and_written,
          &M::default_instance()};
}

template <typename M, typename Plain>
M MessageOf(const Plain& plain) {
  M message;
  ToProto(plain, &message);
  return message;
}

template <typename M, typename Plain>
WireSample Request(const std::string& name, const Plain& plain) {
  return Sample<M>(
      absl::StrCat(name, "_request"), plain, [](const Plain& from, M* out) { ToProto(from, out); },
      [](const M& received) { return FromProto(received); });
}

// An answer of a backend, which is read together with its request.
template <typename M, typename RequestMessage, typename Plain>
WireSample Answer(const std::string& name, const RequestMessage& request, const Plain& plain) {
  return Sample<M>(
      absl::StrCat(name, "_response"), plain,
      [](const Plain& from, M* out) { ToProto(from, kPictures, out); },
      [request](const M& received) { return FromProto(request, received); });
}

EmbeddingMatrix Matrix(int rows, int dimension) {
  EmbeddingMatrix matrix(rows, dimension);
  for (int i = 0; i < rows * dimension; ++i) {
    matrix.mutable_data()[i] = static_cast<float>(i * 5 % 13 - 6) / 4;
  }
  return matrix;
}

// A tensor of each type that may travel.
ItemFeatures Features() {
  ItemFeatures features;
  for (const Dtype dtype :
       {Dtype::kFloat32, Dtype::kFloat16, Dtype::kInt8, Dtype::kInt32, Dtype::kInt64}) {
    FeatureTensor tensor{DtypeName(dtype), dtype, 2, 3, ""};
    for (size_t i = 0; i < 6 * DtypeSize(dtype); ++i) {
      tensor.bytes.push_back(static_cast<char>(i * 3));
    }
    features.tensors.push_back(std::move(tensor));
  }
  return features;
}

ImageInput Regions() {
  ImageInput image;
  image.regions.count = 2;
  image.regions.feature_size = 3;
  image.regions.features = {1, -2, 0.5f, 0.25f, 3, -0.125f};
  image.regions.boxes = {0, 0, 0.5f, 0.5f, 0.25f, 0.5f, 1, 1};
  image.regions.box_sizes = {0.5f, 0.5f, 0.75f, 0.5f};
  image.regions.confidences = {0.875f, 0.125f};
  image.ocr_tokens = {"STOP", "\xE2\x98\x83"};
  image.tags = {"fish", "sea"};
  return image;
}

const char kPicture[] = "\xFF\xD8 a picture";
const char kText[] = "a red fish \xE2\x98\x83";

void AddQueryEncoder(std::vector<WireSample>* samples) {
  EncodeRequest request;
  request.target = kPictures;
  request.queries = {TextQuery{kText}, ImageQuery{std::string(kPicture)}, RegionsQuery{Regions()}};
  request.want_features = true;
  request.reranker = "fine";
  EncodeResponse response;
  response.embeddings = Matrix(3, 4);
  response.features = {Features(), {}, Features()};
  response.reranker = "fine";
  const auto message = MessageOf<v1::EncodeQueriesRequest>(request);
  samples->push_back(Request<v1::EncodeQueriesRequest>("encode_queries", request));
  samples->push_back(Answer<v1::EncodeQueriesResponse>("encode_queries", message, response));
  request.wish.precision = "bfloat16";
  response.precision = "bfloat16";
  samples->push_back(Request<v1::EncodeQueriesRequest>("encode_queries_precise", request));
  samples->push_back(
      Answer<v1::EncodeQueriesResponse>("encode_queries_precise", message, response));
}

StoredItem Stored(const std::string& id, int64_t row) {
  return {id, "a red fish", "file:///1.png", {"fish", ""}, 3, row, {0.5f, -0.25f, 1}};
}

void AddIndexSearch(std::vector<WireSample>* samples) {
  SearchShardRequest search;
  search.target = kPictures;
  search.shard = 3;
  search.queries = Matrix(2, 4);
  search.top_k = 2;
  SearchShardResponse found;
  found.candidates = {{{"pictures/001", 3, 17, 0.75f}, {"pictures/004", 3, 0, -0.5f}}, {}};
  const auto search_message = MessageOf<v1::SearchIndexRequest>(search);
  samples->push_back(Request<v1::SearchIndexRequest>("search_index", search));
  samples->push_back(Answer<v1::SearchIndexResponse>("search_index", search_message, found));

  search.filter = {{"fish", "sea"}, {"red"}, {"drawing"}};
  search.effort.recall = 0.9375f;
  search.budget = absl::Microseconds(12'500);
  found.matched_count = int64_t{1} << 40;
  found.effort = {false, 0.875f, 70, true};
  samples->push_back(Request<v1::SearchIndexRequest>("search_index_filtered", search));
  samples->push_back(
      Answer<v1::SearchIndexResponse>("search_index_filtered", search_message, found));
  search.effort = {absl::nullopt, 70};
  found.effort = {};
  samples->push_back(Request<v1::SearchIndexRequest>("search_index_effort", search));
  samples->push_back(Answer<v1::SearchIndexResponse>("search_index_effort", search_message, found));

  search.want_items = true;
  found.items = {{Stored("pictures/001", 17), Stored("pictures/004", 0)}, {}};
  const auto items_message = MessageOf<v1::SearchIndexRequest>(search);
  samples->push_back(Request<v1::SearchIndexRequest>("search_index_items", search));
  samples->push_back(Answer<v1::SearchIndexResponse>("search_index_items", items_message, found));

  FetchItemsRequest by_id;
  by_id.target = kPictures;
  by_id.shard = 3;
  by_id.item_ids = {"pictures/001", "pictures/none"};
  by_id.want_embeddings = true;
  FetchItemsRequest by_row = by_id;
  by_row.item_ids.clear();
  by_row.rows = {17, int64_t{1} << 40};
  FetchItemsResponse fetched;
  fetched.items = {Stored("pictures/001", 17), absl::nullopt};
  const auto fetch_message = MessageOf<v1::FetchItemsRequest>(by_id);
  samples->push_back(Request<v1::FetchItemsRequest>("fetch_items_by_id", by_id));
  samples->push_back(Request<v1::FetchItemsRequest>("fetch_items_by_row", by_row));
  samples->push_back(Answer<v1::FetchItemsResponse>("fetch_items", fetch_message, fetched));
}

void AddReranker(std::vector<WireSample>* samples) {
  RerankRequest text;
  text.target = kPictures;
  text.query_is_text = true;
  text.query = TextQuery{kText};
  text.candidates = {StoredRef{kPictures, 3, 17}, Shared<ItemFeatures>(Features())};
  text.reranker = "fine";
  RerankRequest image;
  image.target = kPictures;
  image.query_is_text = false;
  image.query = StoredRef{kWords, 1, int64_t{1} << 40};
  image.candidates = {TextQuery{kText}};
  samples->push_back(Request<v1::RerankCandidatesRequest>("rerank_candidates_of_text", text));
  samples->push_back(Request<v1::RerankCandidatesRequest>("rerank_candidates_of_image", image));
  const auto message = MessageOf<v1::RerankCandidatesRequest>(text);
  for (const ScoreKind kind : {ScoreKind::kRankRaw, ScoreKind::kSoftmaxMatch,
                               ScoreKind::kLogitMatch, ScoreKind::kSigmoid}) {
    samples->push_back(Answer<v1::RerankCandidatesResponse>(
        absl::StrCat("rerank_candidates_", std::string(ScoreKindName(kind))), message,
        RerankResponse{{0.25f, 0.75f}, kind, "fine"}));
  }
  text.wish.precision = "int8";
  samples->push_back(Request<v1::RerankCandidatesRequest>("rerank_candidates_precise", text));
  samples->push_back(Answer<v1::RerankCandidatesResponse>(
      "rerank_candidates_precise", message,
      RerankResponse{{0.25f, 0.75f}, ScoreKind::kSigmoid, "fine", "int8"}));
}

SearchRequest SearchFor(Query query) {
  SearchRequest request;
  request.index = kPictures.index;
  request.query = std::move(query);
  return request;
}

std::vector<std::pair<std::string, SearchRequest>> Searches() {
  SearchRequest text = SearchFor(TextQuery{kText});
  text.top_k = 1000;
  text.depth = 50;
  text.combination = Combination{CombinationKind::kNormAddLambda, 0.25f};
  text.reranker = "fine";
  text.page_token = "a-token";
  SearchRequest image = SearchFor(ImageQuery{std::string(kPicture)});
  image.depth = 0;
  image.combination = Combination{CombinationKind::kReplace, 0};
  image.want_records = false;
  SearchRequest regions = SearchFor(RegionsQuery{Regions()});
  regions.combination = Combination{CombinationKind::kAddLambda, 0.75f};
  return {{"text", text},
          {"image", image},
          {"regions", regions},
          {"embedding", SearchFor(EmbeddingQuery{{0.5f, -0.25f, 1}, kPictures.space})},
          {"item", SearchFor(ItemQuery{"words", "words/a"})}};
}

SearchResult Found(RerankOutcome outcome) {
  SearchResult result;
  result.target = kPictures;
  result.shard_count = 4;
  result.answered_shard_count = 3;
  result.unreachable = {"indexes/pictures/shards/2"};
  result.rerank = outcome;
  result.requested_depth = 20;
  result.combination = {CombinationKind::kAddLambda, 0.25f};
  result.reranker = "fine";
  result.next_page_token = "the-next";
  result.times = {absl::Milliseconds(3), absl::Microseconds(1500), absl::Seconds(1.25),
                  absl::Nanoseconds(7), absl::Seconds(61)};
  Hit hit;
  hit.item_id = "pictures/001";
  hit.score = 0.5f;
  hit.retrieval_score = 0.5f;
  hit.shard = 3;
  hit.row = int64_t{1} << 40;
  hit.caption = "a red fish";
  hit.uri = "file:///1.png";
  hit.tags = {"fish", ""};
  if (outcome == RerankOutcome::kPartial) {
    Hit first = hit;
    first.item_id = "pictures/004";
    first.stage = HitStage::kReranked;
    first.score = 0.25f;
    first.rerank_score = 0;
    result.hits.push_back(first);
    result.achieved_depth = 1;
    result.degraded = {DegradedReason::kShardsMissing, DegradedReason::kDepthReduced,
                       DegradedReason::kRerankerFailed, DegradedReason::kRerankerLate,
                       DegradedReason::kRecordsMissing};
  }
  result.hits.push_back(hit);
  return result;
}

void AddSearchItems(std::vector<WireSample>* samples) {
  for (const auto& [name, request] : Searches()) {
    samples->push_back(
        Request<v1::SearchItemsRequest>(absl::StrCat("search_items_", name), request));
  }
  SearchRequest filtered = SearchFor(TextQuery{kText});
  filtered.filter = {{"fish", "sea"}, {"red"}, {"drawing"}};
  filtered.effort.recall = 0.9375f;
  samples->push_back(Request<v1::SearchItemsRequest>("search_items_filtered", filtered));
  SearchRequest effort = SearchFor(TextQuery{kText});
  effort.effort.effort = 70;
  samples->push_back(Request<v1::SearchItemsRequest>("search_items_effort", effort));
  const auto message = MessageOf<v1::SearchItemsRequest>(SearchFor(TextQuery{kText}));
  const std::pair<const char*, RerankOutcome> outcomes[] = {
      {"not_requested", RerankOutcome::kNotRequested},
      {"not_applicable", RerankOutcome::kNotApplicable},
      {"not_by_default", RerankOutcome::kNotByDefault},
      {"complete", RerankOutcome::kComplete},
      {"partial", RerankOutcome::kPartial},
      {"failed", RerankOutcome::kFailed}};
  const auto add = [&](const std::string& name, const SearchResult& found) {
    samples->push_back(Sample<v1::SearchItemsResponse>(
        absl::StrCat("search_items_", name, "_response"), found,
        [](const SearchResult& from, v1::SearchItemsResponse* out) {
          ToProto(from, /*with_items=*/true, out);
        },
        [message](const v1::SearchItemsResponse& received) {
          return FromProto(message, received);
        }));
  };
  for (const auto& [name, outcome] : outcomes) add(name, Found(outcome));
  SearchResult kept = Found(RerankOutcome::kComplete);
  kept.from_cache = true;
  add("kept", kept);
  SearchResult precise = Found(RerankOutcome::kPartial);
  precise.encoder_precision = "bfloat16";
  precise.reranker_precision = "int8";
  add("precise", precise);
  SearchResult reduced = Found(RerankOutcome::kComplete);
  reduced.matched_item_count = int64_t{1} << 40;
  reduced.effort = {false, 0.875f, 70, true};
  reduced.degraded = {DegradedReason::kRecallReduced};
  add("reduced", reduced);
  SearchResult exact = Found(RerankOutcome::kComplete);
  exact.matched_item_count = 17;
  add("exact", exact);
}

void AddOtherSearch(std::vector<WireSample>* samples) {
  ScorePairsRequest pairs;
  pairs.index = kPictures.index;
  pairs.texts = {TextQuery{kText}, ItemQuery{"words", "words/a"}};
  pairs.images = {ImageQuery{std::string(kPicture)}, RegionsQuery{Regions()},
                  ItemQuery{"pictures", "pictures/001"}};
  pairs.reranker = "fine";
  ScorePairsResult scores;
  scores.target = kPictures;
  scores.reranker = "fine";
  scores.score_kind = ScoreKind::kLogitMatch;
  for (int i = 0; i < 6; ++i) {
    const auto number = static_cast<float>(i);
    scores.scores.push_back({number / 8 - 0.5f, number / 16, number - 2.5f});
  }
  samples->push_back(Request<v1::ScorePairsRequest>("score_pairs", pairs));
  samples->push_back(Sample<v1::ScorePairsResponse>(
      "score_pairs_response", scores,
      [](const ScorePairsResult& from, v1::ScorePairsResponse* out) { ToProto(from, 3, out); },
      [message = MessageOf<v1::ScorePairsRequest>(pairs)](const v1::ScorePairsResponse& received) {
        return FromProto(message, received);
      }));

  GetItemsRequest get;
  get.index = kPictures.index;
  get.item_ids = {"pictures/001", "pictures/none", "pictures/004"};
  get.want_embeddings = true;
  GetItemsResult items;
  items.target = kPictures;
  items.items = {Stored("pictures/001", 17), absl::nullopt, Stored("pictures/004", 0)};
  items.unreachable = {"indexes/pictures/shards/2"};
  samples->push_back(Request<v1::GetItemsRequest>("get_items", get));
  samples->push_back(Sample<v1::GetItemsResponse>(
      "get_items_response", items,
      [](const GetItemsResult& from, v1::GetItemsResponse* out) { ToProto(from, out); },
      [message = MessageOf<v1::GetItemsRequest>(get)](const v1::GetItemsResponse& received) {
        return FromProto(message, received);
      }));
}

GenerationStatus StatusOf(GenerationState state) {
  GenerationStatus status;
  status.state = state;
  status.sequence = 4;
  status.info.ref = kPictures;
  if (state == GenerationState::kRefused) {
    status.reason = "no room";
    status.needs_room = true;
    return status;
  }
  status.info.content = IndexContent::kImages;
  status.info.dimension = 5;
  status.info.shard_count = 4;
  status.info.item_count = int64_t{1} << 40;
  status.info.encoder_model = std::string(64, 'c');
  status.info.rerankers = {
      {"coarse", std::string(64, 'c'), {{CombinationKind::kNormAddLambda, 0.25f}, true}},
      {"fine", std::string(64, 'd'), {{CombinationKind::kReplace, 0}, false}}};
  status.held_shards = {1, 3};
  return status;
}

void AddAdmin(std::vector<WireSample>* samples) {
  StatusRequest request;
  request.router = "router-1";
  request.uses = {{kPictures, true}, {kWords, false}};
  ServerStatus status;
  status.service = "index_search";
  status.generations = {StatusOf(GenerationState::kReady), StatusOf(GenerationState::kLoading),
                        StatusOf(GenerationState::kRefused)};
  GenerationStatus captions = StatusOf(GenerationState::kReady);
  captions.info.ref = kWords;
  captions.info.content = IndexContent::kCaptions;
  captions.info.rerankers.clear();
  status.generations.push_back(captions);
  status.models = {{std::string(64, 'c'), "oscar", std::string(64, 'a'), "a sample"}};
  status.backends = {{"index_search", "a:1", true, "", {"indexes/pictures/shards/1"}},
                     {"reranker", "b:2", false, "connection refused", {}}};
  samples->push_back(Request<v1::GetStatusRequest>("get_status", request));
  const auto add = [samples](const char* name, const ServerStatus& of) {
    samples->push_back(Sample<v1::GetStatusResponse>(
        name, of, [](const ServerStatus& from, v1::GetStatusResponse* out) { ToProto(from, out); },
        [](const v1::GetStatusResponse& received) { return FromProto(received); }));
  };
  add("get_status_response", status);
  ServerStatus loading;
  loading.service = "reranker";
  for (const LoadStage stage : {LoadStage::kFetching, LoadStage::kVerifying, LoadStage::kLoading}) {
    loading.generations.push_back(StatusOf(GenerationState::kLoading));
    loading.generations.back().progress =
        LoadProgress{stage, 17, int64_t{1} << 40, absl::Milliseconds(1250)};
  }
  add("get_status_loading_response", loading);
  ServerStatus following;
  following.service = "query_encoder";
  following.indexes = {{"pictures", "g2", 4, "UNAVAILABLE: the store is away"},
                       {"words", "", 0, ""}};
  add("get_status_indexes_response", following);
  ServerStatus caching;
  caching.service = "router";
  caching.caches = {{"embeddings", 3, 1000, 5000, 7, 8, 9},
                    {"results", 0, 0, int64_t{1} << 40, 0, 0, 0}};
  add("get_status_caches_response", caching);
  ServerStatus precise;
  precise.service = "reranker";
  precise.models = {{std::string(64, 'c'), "oscar", "", "a sample", "int8", 0.984375}};
  add("get_status_precision_response", precise);
  ServerStatus computing;
  computing.service = "index_search";
  computing.devices = {{1, "a GPU", int64_t{150} << 30, int64_t{3} << 33, {}}, {2, "", 0, 0, {}}};
  add("get_status_devices_response", computing);
  computing.devices[0].work = {11, 10, absl::Milliseconds(1250), absl::Milliseconds(500), 12, 13};
  add("get_status_device_work_response", computing);
  ServerStatus draining;
  draining.service = "reranker";
  draining.draining = true;
  add("get_status_draining_response", draining);
}

// A router goes on where another one's answer ended, if the search is the same.
void AddPageTokens(std::vector<WireSample>* samples) {
  constexpr int kDepth = 20;
  for (const auto& [name, search] : Searches()) {
    const int depth = search.depth.value_or(kDepth);
    const PageToken token{kPictures.index, kPictures.generation, name == "item" ? "g7" : "",
                          FingerprintOf(search, depth), 10};
    const auto read_and_written = [search = search,
                                   depth](const std::string& text) -> absl::StatusOr<std::string> {
      SearchRequest next = search;
      next.page_token = text;
      ASSIGN_OR_RETURN(const PageToken read, TokenOf(next, depth, depth));
      return ToText(read);
    };
    samples->push_back(
        {absl::StrCat("wire/page_token_", name, ".txt"), ToText(token), read_and_written});
  }
}

// The same of those that tell what they are computed in, which began later.
void AddPreciseTokens(std::vector<WireSample>* samples) {
  for (const bool reduced : {false, true}) {
    PageToken token{kPictures.index, kPictures.generation, "", FingerprintOf({}, 20), 10};
    token.precisions = Precisions{"bfloat16", "int8"};
    if (reduced) token.reranked = 7;
    samples->push_back({absl::StrCat("wire/page_token_precise", reduced ? "_reduced" : "", ".txt"),
                        ToText(token), [](const std::string& text) -> absl::StatusOr<std::string> {
                          ASSIGN_OR_RETURN(const PageToken read, ParsePageToken(text));
                          return ToText(read);
                        }});
  }
}

// The same of a list that goes on behind a candidate, and of a search with a filter and a wish.
void AddTokensBehind(std::vector<WireSample>* samples) {
  for (const bool precise : {false, true}) {
    SearchRequest search = SearchFor(TextQuery{kText});
    search.filter = {{"fish", "sea"}, {"red"}, {"drawing"}};
    search.effort.recall = 0.9375f;
    if (precise) search.effort = {absl::nullopt, 70};
    PageToken token{kPictures.index, kPictures.generation, "", FingerprintOf(search, 20), 10};
    token.behind = PageToken::Place{3, int64_t{1} << 40, 0.625f};
    if (precise) {
      token.precisions = Precisions{"bfloat16", "int8"};
      token.reranked = 7;
    }
    const auto read_and_written = [search](const std::string& text) -> absl::StatusOr<std::string> {
      SearchRequest next = search;
      next.page_token = text;
      ASSIGN_OR_RETURN(const PageToken read, TokenOf(next, 20, 20));
      return ToText(read);
    };
    samples->push_back({absl::StrCat("wire/page_token_behind", precise ? "_precise" : "", ".txt"),
                        ToText(token), read_and_written});
  }
}

// One entry of metadata: a map has no order of its own.
void AddErrors(std::vector<WireSample>* samples) {
  absl::Status busy = WithReason(absl::ResourceExhaustedError("busy \xE2\x98\x83"),
                                 reasons::kTooManyBytes, {{"requestBytes", "17"}});
  busy = WithField(WithField(std::move(busy), "query.text"), "queries[3].regions.boxes");
  busy = WithRetryDelay(std::move(busy), absl::Milliseconds(1250));
  busy = WithPrecondition(std::move(busy), {"GENERATION", "indexes/pictures", "load it"});
  const auto read_and_written = [](const std::string& bytes) -> absl::StatusOr<std::string> {
    google::rpc::Status details;
    if (!details.ParseFromString(bytes)) return absl::DataLossError("no google.rpc.Status");
    const grpc::Status received(static_cast<grpc::StatusCode>(details.code()), details.message(),
                                bytes);
    return ToGrpcStatus(FromGrpcStatus(received)).error_details();
  };
  samples->push_back({"wire/error_details.binpb", ToGrpcStatus(busy).error_details(),
                      read_and_written, &google::rpc::Status::default_instance()});
}

}  // namespace

std::vector<WireSample> WireSamples() {
  std::vector<WireSample> samples;
  AddQueryEncoder(&samples);
  AddIndexSearch(&samples);
  AddReranker(&samples);
  AddSearchItems(&samples);
  AddOtherSearch(&samples);
  AddAdmin(&samples);
  AddPageTokens(&samples);
  AddPreciseTokens(&samples);
  AddTokensBehind(&samples);
  AddErrors(&samples);
  return samples;
}

google::protobuf::FileDescriptorSet SharedProtos() {
  google::protobuf::FileDescriptorSet files;
  for (const google::protobuf::Descriptor* const message :
       {google::rpc::Status::descriptor(), google::rpc::ErrorInfo::descriptor(),
        bundle::v1::ModelBundleManifest::descriptor(), bundle::v1::GenerationManifest::descriptor(),
        v1::Item::descriptor(), v1::GetStatusRequest::descriptor(),
        v1::SearchIndexRequest::descriptor(), v1::EncodeQueriesRequest::descriptor(),
        v1::RerankCandidatesRequest::descriptor(), v1::SearchItemsRequest::descriptor()}) {
    message->file()->CopyTo(files.add_file());
  }
  return files;
}

}  // namespace sightline
