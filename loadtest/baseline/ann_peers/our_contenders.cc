#include "loadtest/baseline/ann_peers/our_contenders.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/call_context.h"
#include "common/base/compute_pool.h"
#include "common/base/dtype.h"
#include "common/base/files.h"
#include "common/base/float16.h"
#include "common/base/resident_memory.h"
#include "common/base/status_macros.h"
#include "common/embedding/embedding_matrix.h"
#include "common/index/index_kinds.h"
#include "common/index/spec_defaults.h"
#include "sightline/bundle/v1/generation.pb.h"

namespace sightline {
namespace {

using bundle::v1::GenerationManifest;
using bundle::v1::IndexSpec;

constexpr char kManifestFile[] = "manifest";
constexpr int64_t kMostManifestBytes = int64_t{16} << 20;

// Rows of another type, which contenders that want it share.
absl::StatusOr<std::shared_ptr<ResidentMemory>> AsFloat16(const VectorView& items) {
  static auto* const kept = new std::weak_ptr<ResidentMemory>;
  static const void* of = nullptr;
  if (std::shared_ptr<ResidentMemory> rows = kept->lock(); rows != nullptr && of == items.data) {
    return rows;
  }
  ASSIGN_OR_RETURN(auto memory, ResidentMemory::Allocate(items.rows * items.dimension *
                                                         static_cast<int64_t>(sizeof(uint16_t))));
  const int64_t row_bytes = items.dimension * static_cast<int64_t>(sizeof(uint16_t));
  for (int64_t row = 0; row < items.rows; ++row) {
    Float32ToFloat16(items.float_row(row), items.dimension, memory->data() + row * row_bytes);
  }
  std::shared_ptr<ResidentMemory> rows = std::move(memory);
  *kept = rows;
  of = items.data;
  return rows;
}

class Ours : public Contender {
 public:
  Ours(std::string name, const IndexKind* kind, GenerationManifest manifest)
      : name_(std::move(name)), kind_(kind), manifest_(std::move(manifest)) {}

  const std::string& name() const override { return name_; }
  bool ours() const override { return true; }

  std::vector<Sweep> Sweeps() const override {
    if (kind_->exact) return {{{"all", 1}}};
    Sweep sweep;
    const int least = manifest_.index_spec().has_hnsw() ? 8 : 1;
    for (const int effort : EffortLadder(least, 4096)) {
      sweep.push_back({absl::StrCat("effort ", effort), effort});
    }
    return {sweep};
  }

  absl::Status Build(const VectorView& items, int threads, const std::string& path) const override {
    if (kind_->build == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(MakeDirectories(JoinPath(path, "shards")));
    const std::string stages = JoinPath(path, "stages");
    RETURN_IF_ERROR(MakeDirectories(stages));
    std::shared_ptr<ResidentMemory> memory;
    ComputePool pool(threads);
    const CallContext call = CallContext::Unbounded();
    IndexBuild build;
    build.directory = path;
    build.work_directory = stages;
    build.manifest = &manifest_;
    ASSIGN_OR_RETURN(build.vectors, Stored(items, &memory));
    build.pool = &pool;
    build.call = &call;
    ASSIGN_OR_RETURN(const auto files, kind_->build(build));
    std::error_code ignored;
    std::filesystem::remove_all(stages, ignored);
    GenerationManifest built = manifest_;
    for (const auto& file : files) *built.mutable_shards(0)->add_index_files() = file;
    return WriteFileAtomically(JoinPath(path, kManifestFile), built.SerializeAsString());
  }

  absl::Status Share(const VectorView& items) override { return Stored(items, &float16_).status(); }

  absl::Status Load(const VectorView& items, const std::string& path) override {
    if (kind_->build != nullptr) {
      ASSIGN_OR_RETURN(const std::string bytes,
                       ReadFile(JoinPath(path, kManifestFile), kMostManifestBytes));
      if (!manifest_.ParseFromString(bytes)) {
        return absl::DataLossError(absl::StrCat(path, " has no manifest; remove it"));
      }
    }
    query_ = EmbeddingMatrix(1, items.dimension);
    ASSIGN_OR_RETURN(const VectorView vectors, Stored(items, &float16_));
    ASSIGN_OR_RETURN(index_,
                     kind_->open(path, manifest_, 0, vectors, &pool_, CallContext::Unbounded()));
    return absl::OkStatus();
  }

  int64_t SharedBytes(const VectorView& items) const override {
    const Dtype dtype = float16_ == nullptr ? items.dtype : Dtype::kFloat16;
    return items.rows * items.dimension * static_cast<int64_t>(DtypeSize(dtype));
  }

  void SetEffort(const Effort& effort) override { effort_ = effort.breadth; }

  absl::Status Search(const float* query, int k, std::vector<int64_t>* rows) override {
    std::copy_n(query, query_.dimension(), query_.mutable_data());
    SearchOptions options;
    options.top_k = k;
    options.effort = effort_;
    ASSIGN_OR_RETURN(const auto found, index_->Search(query_, options, CallContext::Unbounded()));
    rows->clear();
    for (const Neighbor& neighbor : found[0]) rows->push_back(neighbor.row);
    return absl::OkStatus();
  }

 private:
  // `items` as the manifest stores them; in `memory` if that is another type.
  absl::StatusOr<VectorView> Stored(const VectorView& items,
                                    std::shared_ptr<ResidentMemory>* memory) const {
    if (manifest_.vector_dtype() != "float16") return items;
    ASSIGN_OR_RETURN(*memory, AsFloat16(items));
    VectorView view = items;
    view.data = (*memory)->data();
    view.stride = items.dimension;
    view.dtype = Dtype::kFloat16;
    return view;
  }

  const std::string name_;
  const IndexKind* const kind_;
  GenerationManifest manifest_;
  ComputePool pool_{1};
  int effort_ = 1;
  EmbeddingMatrix query_;
  std::shared_ptr<ResidentMemory> float16_;  // null: the items as they are
  std::unique_ptr<VectorIndex> index_;
};

// Sets the field `name` of the parameters in `message`.
absl::Status SetField(const std::string& name, const std::string& value,
                      google::protobuf::Message* message) {
  const auto* const field = message->GetDescriptor()->FindFieldByName(name);
  int32_t number = 0;
  if (field != nullptr && field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
    message->GetReflection()->SetString(message, field, value);
    return absl::OkStatus();
  }
  if (field == nullptr || !absl::SimpleAtoi(value, &number)) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "=", value, "' is no parameter of ",
                                                   message->GetDescriptor()->name()));
  }
  message->GetReflection()->SetInt32(message, field, number);
  return absl::OkStatus();
}

absl::Status ReadParameters(const std::vector<std::string>& words, GenerationManifest* manifest) {
  IndexSpec* const spec = manifest->mutable_index_spec();
  google::protobuf::Message* parameters = nullptr;
  if (spec->kind() == "ivf") parameters = spec->mutable_ivf();
  if (spec->kind() == "hnsw") parameters = spec->mutable_hnsw();
  for (size_t i = 1; i < words.size(); ++i) {
    const std::pair<std::string, std::string> field =
        absl::StrSplit(words[i], absl::MaxSplits('=', 1));
    if (field.first == "rows") {
      manifest->set_vector_dtype(field.second);
    } else if (parameters != nullptr) {
      RETURN_IF_ERROR(SetField(field.first, field.second, parameters));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("kind '", spec->kind(), "' has no parameter '", words[i], "'"));
    }
  }
  const std::string& dtype = manifest->vector_dtype();
  if (dtype.empty() || dtype == "float32" || dtype == "float16") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("rows=", dtype, " is neither float32 nor float16"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Contender>> OurContender(const std::string& text, int64_t items,
                                                        int dimension) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  GenerationManifest manifest;
  manifest.set_item_count(items);
  manifest.mutable_embedding()->set_dimension(dimension);
  manifest.add_shards()->set_item_count(items);
  IndexSpec* const spec = manifest.mutable_index_spec();
  spec->set_kind(words.empty() ? "" : words[0]);
  ASSIGN_OR_RETURN(const IndexKind* const kind, IndexKindOf(manifest));
  RETURN_IF_ERROR(ReadParameters(words, &manifest));
  FillIndexSpec(items, dimension, spec);
  RETURN_IF_ERROR(kind->check(*spec, dimension));
  const std::string name =
      absl::StrReplaceAll(absl::StrJoin(words, "-"), {{"code=", ""}, {"rows=", ""}});
  return std::make_unique<Ours>(name, kind, std::move(manifest));
}

std::vector<std::string> OurSpecs() {
  std::vector<std::string> specs;
  for (const IndexKind* const kind : IndexKinds()) {
    const std::string name = kind->name;
    if (name == "hnsw") {
      specs.insert(specs.end(), {"hnsw code=rows", "hnsw code=int8 rows=float16"});
    } else if (name == "ivf") {
      for (const char* const code : {"rows", "int8", "pq4", "rabitq"}) {
        specs.push_back(absl::StrCat("ivf code=", code, " rows=float16"));
      }
    } else {
      specs.push_back(name);
    }
  }
  return specs;
}

}  // namespace sightline
