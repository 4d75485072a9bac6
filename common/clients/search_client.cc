#include "common/clients/search_client.h"

#include <functional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/clients/convert.h"
#include "common/clients/convert_internal.h"
#include "common/clients/convert_search.h"
#include "common/clients/service_config.h"
#include "common/clients/unary_call.h"
#include "sightline/v1/search.grpc.pb.h"

namespace sightline {
namespace {

using convert_internal::Overloaded;

// protobuf would send bad UTF-8 with a shrug, and the server could only say that it did
// not understand the message.
absl::Status CheckUtf8(absl::string_view text, const FieldPath& path) {
  return IsValidUtf8(text) ? absl::OkStatus() : InvalidField(path, "is not valid UTF-8");
}

absl::Status CheckItemUtf8(const ItemQuery& item, const FieldPath& path) {
  RETURN_IF_ERROR(CheckUtf8(item.index, FieldPath(path, "index")));
  return CheckUtf8(item.item_id, FieldPath(path, "item_id"));
}

absl::Status CheckWordsUtf8(const std::vector<std::string>& words, const FieldPath& parent,
                            const char* name) {
  for (size_t i = 0; i < words.size(); ++i) {
    RETURN_IF_ERROR(CheckUtf8(words[i], FieldPath(parent, name, static_cast<int>(i))));
  }
  return absl::OkStatus();
}

absl::Status CheckRegionsUtf8(const RegionsQuery& regions, const FieldPath& path) {
  RETURN_IF_ERROR(CheckWordsUtf8(regions.image->ocr_tokens, path, "ocr_tokens"));
  return CheckWordsUtf8(regions.image->tags, path, "tags");
}

absl::Status CheckFilterUtf8(const TagFilter& filter, const FieldPath& path) {
  const auto& [any, all, none] = filter;
  RETURN_IF_ERROR(CheckWordsUtf8(any, path, "any"));
  RETURN_IF_ERROR(CheckWordsUtf8(all, path, "all"));
  return CheckWordsUtf8(none, path, "none");
}

absl::Status CheckSendable(const SearchRequest& request) {
  RETURN_IF_ERROR(CheckUtf8(request.index, FieldPath("index")));
  RETURN_IF_ERROR(CheckUtf8(request.page_token, FieldPath("page_token")));
  RETURN_IF_ERROR(CheckUtf8(request.reranker, FieldPath("reranker")));
  RETURN_IF_ERROR(CheckFilterUtf8(request.filter, FieldPath("filter")));
  const FieldPath path("query");
  return std::visit(
      Overloaded{
          [&](const TextQuery& text) { return CheckUtf8(text.text, FieldPath(path, "text")); },
          [&](const ItemQuery& item) { return CheckItemUtf8(item, FieldPath(path, "item")); },
          [&](const RegionsQuery& regions) {
            return CheckRegionsUtf8(regions, FieldPath(path, "regions"));
          },
          [&](const EmbeddingQuery& embedding) {
            const FieldPath embedding_path(path, "embedding");
            return CheckUtf8(embedding.space, FieldPath(embedding_path, "space"));
          },
          [](const ImageQuery&) { return absl::OkStatus(); },
      },
      request.query);
}

absl::Status CheckSendable(const ScorePairsRequest& request) {
  RETURN_IF_ERROR(CheckUtf8(request.index, FieldPath("index")));
  RETURN_IF_ERROR(CheckUtf8(request.reranker, FieldPath("reranker")));
  for (size_t i = 0; i < request.texts.size(); ++i) {
    const FieldPath path("texts", static_cast<int>(i));
    RETURN_IF_ERROR(std::visit(
        Overloaded{
            [&](const TextQuery& text) { return CheckUtf8(text.text, FieldPath(path, "text")); },
            [&](const ItemQuery& item) { return CheckItemUtf8(item, FieldPath(path, "item")); },
        },
        request.texts[i]));
  }
  for (size_t i = 0; i < request.images.size(); ++i) {
    const FieldPath path("images", static_cast<int>(i));
    RETURN_IF_ERROR(std::visit(
        Overloaded{
            [&](const ItemQuery& item) { return CheckItemUtf8(item, FieldPath(path, "item")); },
            [&](const RegionsQuery& regions) {
              return CheckRegionsUtf8(regions, FieldPath(path, "regions"));
            },
            [](const ImageQuery&) { return absl::OkStatus(); },
        },
        request.images[i]));
  }
  return absl::OkStatus();
}

absl::Status CheckSendable(const GetItemsRequest& request) {
  RETURN_IF_ERROR(CheckUtf8(request.index, FieldPath("index")));
  for (size_t i = 0; i < request.item_ids.size(); ++i) {
    RETURN_IF_ERROR(CheckUtf8(request.item_ids[i], FieldPath("item_ids", static_cast<int>(i))));
  }
  return absl::OkStatus();
}

struct ReadAnswer {
  template <typename Request, typename Answer>
  auto operator()(const Request& request, const Answer& answer) const {
    return FromProto(request, answer);
  }
};

class GrpcSearchClient : public SearchClient {
 public:
  GrpcSearchClient(std::shared_ptr<grpc::Channel> channel, absl::string_view name)
      : channel_(std::move(channel)),
        stub_(v1::Search::NewStub(channel_)),
        who_(absl::StrCat("router ", name)) {}

  void SearchItems(const CallContext& call, SearchRequest request,
                   Done<SearchResult> done) override {
    if (absl::Status sendable = CheckSendable(request); !sendable.ok()) return done(sendable);
    v1::SearchItemsRequest message;
    ToProto(std::move(request), &message);
    StartUnaryCall<v1::SearchItemsResponse, SearchResult>(
        channel_, call, who_, std::move(message),
        [this](auto* context, const auto& asked, auto* queue) {
          return stub_->PrepareAsyncSearchItems(context, asked, queue);
        },
        ReadAnswer(), std::move(done));
  }

  void ScorePairs(const CallContext& call, ScorePairsRequest request,
                  Done<ScorePairsResult> done) override {
    if (absl::Status sendable = CheckSendable(request); !sendable.ok()) return done(sendable);
    v1::ScorePairsRequest message;
    ToProto(std::move(request), &message);
    StartUnaryCall<v1::ScorePairsResponse, ScorePairsResult>(
        channel_, call, who_, std::move(message),
        [this](auto* context, const auto& asked, auto* queue) {
          return stub_->PrepareAsyncScorePairs(context, asked, queue);
        },
        ReadAnswer(), std::move(done));
  }

  void GetItems(const CallContext& call, GetItemsRequest request,
                Done<GetItemsResult> done) override {
    if (absl::Status sendable = CheckSendable(request); !sendable.ok()) return done(sendable);
    v1::GetItemsRequest message;
    ToProto(std::move(request), &message);
    StartUnaryCall<v1::GetItemsResponse, GetItemsResult>(
        channel_, call, who_, std::move(message),
        [this](auto* context, const auto& asked, auto* queue) {
          return stub_->PrepareAsyncGetItems(context, asked, queue);
        },
        ReadAnswer(), std::move(done));
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Search::Stub> stub_;
  const std::string who_;
};

std::shared_ptr<grpc::Channel> PublicChannel(const ServerAddress& address) {
  return MakeChannel(address, PublicServiceConfigWithoutTimeouts());
}

}  // namespace

absl::StatusOr<SearchResult> SearchClient::SearchItems(const CallContext& call,
                                                       SearchRequest request) {
  return WaitForAnswer<SearchResult>(
      [&](Done<SearchResult> done) { SearchItems(call, std::move(request), std::move(done)); });
}

absl::StatusOr<ScorePairsResult> SearchClient::ScorePairs(const CallContext& call,
                                                          ScorePairsRequest request) {
  return WaitForAnswer<ScorePairsResult>(
      [&](Done<ScorePairsResult> done) { ScorePairs(call, std::move(request), std::move(done)); });
}

absl::StatusOr<GetItemsResult> SearchClient::GetItems(const CallContext& call,
                                                      GetItemsRequest request) {
  return WaitForAnswer<GetItemsResult>(
      [&](Done<GetItemsResult> done) { GetItems(call, std::move(request), std::move(done)); });
}

std::unique_ptr<SearchClient> MakeGrpcSearchClient(const ServerAddress& address) {
  return MakeGrpcSearchClient(PublicChannel(address), address.target);
}

std::unique_ptr<SearchClient> MakeGrpcSearchClient(std::shared_ptr<grpc::Channel> channel,
                                                   const std::string& name) {
  return std::make_unique<GrpcSearchClient>(std::move(channel), name);
}

}  // namespace sightline
