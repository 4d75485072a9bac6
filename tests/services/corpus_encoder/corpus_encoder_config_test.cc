#include "services/corpus_encoder/corpus_encoder_config.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

const std::string& Model() {
  static const auto* model = new std::string(64, 'b');
  return *model;
}

absl::StatusOr<CorpusEncoderConfig> Read(const std::string& yaml) {
  auto file = ConfigFile::Parse(yaml, "job.yaml");
  REQUIRE(file.ok());
  return ReadCorpusEncoderConfig(&*file);
}

TEST_CASE("a small file is enough") {
  const auto config =
      Read(absl::StrCat("store: /s\nmodel: ", Model(), "\ncorpora:\n  - kind: stamps\n"));
  REQUIRE(config.ok());
  REQUIRE(config->job.store == "/s");
  REQUIRE(config->job.images_index == "images");
  REQUIRE(config->job.captions_index == "captions");
  REQUIRE(config->job.limits.max_pixels == 60'000'000);
  REQUIRE(config->job.publish);
  REQUIRE(config->job.feature_dtype == Dtype::kFloat16);
  REQUIRE(config->job.vector_dtype == Dtype::kFloat32);
  REQUIRE(config->job.index.is_empty());
  REQUIRE(config->precision.policy.precision == "float32");
  REQUIRE(config->place.execution.on_cpu());
  REQUIRE(config->job.base.empty());
  REQUIRE(config->job.share.workers == 1);
  REQUIRE(config->corpora.size() == 1);
  REQUIRE(config->corpora[0].kind == CorpusKind::kStamps);
  REQUIRE(config->corpora[0].languages == std::vector<std::string>{"en"});
}

TEST_CASE("every key is read") {
  const auto config = Read(absl::StrCat(R"(
store: /s
model: )",
                                        Model(), R"(
verify_model: false
images_index: pictures
captions_index: words
generation: spring
caption_language: de
shards: 3
feature_dtype: int8
vector_dtype: float16
index_build: {kind: hnsw, links: 24, recall: 0.9}
unit_size: 10
publish: false
base: winter
worker: 2
workers: 4
stall_timeout: 5m
read_threads: 5
decode_threads: 4
compute: {threads: 2, deterministic: true, precision: bfloat16, least_agreement: 0.9}
limits: {max_image_bytes: 1MiB, max_image_pixels: 1000, max_image_side: 100,
         max_decode_bytes: 1GiB, max_decode_time: 3s, max_quarantine_share: 0.5}
log: {level: debug}
corpora:
  - {kind: folder, root: /f, captions: /c.jsonl, id_prefix: mine/}
  - {kind: clipart, png_root: /png, svg_root: /svg}
  - {kind: emoji, font: /font.ttf, annotations: /cldr}
)"));
  REQUIRE(config.ok());
  REQUIRE(!config->verify_model);
  REQUIRE(config->job.images_index == "pictures");
  REQUIRE(config->job.captions_index == "words");
  REQUIRE(config->job.generation == "spring");
  REQUIRE(config->job.caption_language == "de");
  REQUIRE(config->job.shard_count == 3);
  REQUIRE(config->job.feature_dtype == Dtype::kInt8);
  REQUIRE(config->job.vector_dtype == Dtype::kFloat16);
  REQUIRE(config->job.index.spec.hnsw().link_count() == 24);
  REQUIRE(config->job.index.spec.default_recall() == 0.9);
  REQUIRE(config->job.unit_size == 10);
  REQUIRE(!config->job.publish);
  REQUIRE(config->job.base == "winter");
  REQUIRE(config->job.share.worker == 2);
  REQUIRE(config->job.share.workers == 4);
  REQUIRE(config->job.await.stall_timeout == absl::Minutes(5));
  REQUIRE(config->max_decode_time == absl::Seconds(3));
  REQUIRE(config->job.read_threads == 5);
  REQUIRE(config->job.decode_threads == 4);
  REQUIRE(config->job.deterministic);
  REQUIRE(config->compute.threads == 2);
  REQUIRE(config->precision.policy.precision == "bfloat16");
  REQUIRE(config->precision.policy.least_agreement == 0.9);
  REQUIRE(config->job.limits.max_bytes == 1 << 20);
  REQUIRE(config->job.limits.max_pixels == 1000);
  REQUIRE(config->job.limits.max_side == 100);
  REQUIRE(config->job.max_decode_bytes == 1 << 30);
  REQUIRE(config->job.max_quarantine_share == 0.5);
  REQUIRE(config->corpora.size() == 3);
  REQUIRE(config->corpora[0].root == "/f");
  REQUIRE(config->corpora[0].annotations == "/c.jsonl");
  REQUIRE(config->corpora[0].id_prefix == "mine/");
  REQUIRE(config->corpora[0].languages == std::vector<std::string>{"de"});
  REQUIRE(config->corpora[1].annotations == "/svg");
  REQUIRE(config->corpora[2].root == "/font.ttf");
}

TEST_CASE("corpora of regions say where they lie") {
  const auto config = Read(absl::StrCat("store: /s\nmodel: ", Model(), R"(
corpora:
  - {kind: regions, root: /a.regions, id_prefix: a/}
  - {kind: npz, root: /n, captions: /c.jsonl, id_prefix: n/}
  - {kind: precomp, root: /p, id_prefix: p/}
)"));
  REQUIRE(config.ok());
  REQUIRE(config->corpora[0].kind == CorpusKind::kRegions);
  REQUIRE(config->corpora[0].root == "/a.regions");
  REQUIRE(config->corpora[0].id_prefix == "a/");
  REQUIRE(config->corpora[1].kind == CorpusKind::kNpz);
  REQUIRE(config->corpora[1].annotations == "/c.jsonl");
  REQUIRE(config->corpora[2].kind == CorpusKind::kPrecomp);
  REQUIRE(config->corpora[2].root == "/p");
  for (const char* kind : {"regions", "npz", "precomp"}) {
    REQUIRE_FALSE(
        Read(absl::StrCat("store: /s\nmodel: ", Model(), "\ncorpora: [{kind: ", kind, "}]")).ok());
  }
}

TEST_CASE("published sets say what is taken of them, in a file and in a flag") {
  const auto config = Read(absl::StrCat("store: /s\nmodel: ", Model(), R"(
corpora:
  - {kind: karpathy, file: /d.json, images: /i, splits: train+restval, id_prefix: c/}
  - {kind: multi30k, root: /m, captions_per_picture: 1}
)"));
  REQUIRE(config.ok());
  REQUIRE(config->corpora[0].kind == CorpusKind::kKarpathy);
  REQUIRE(config->corpora[0].root == "/d.json");
  REQUIRE(config->corpora[0].id_prefix == "c/");
  REQUIRE(config->corpora[0].published.images == "/i");
  REQUIRE(config->corpora[0].published.splits == std::vector<std::string>{"train", "restval"});
  REQUIRE(config->corpora[1].root == "/m");
  REQUIRE(config->corpora[1].published.captions_per_picture == 1);

  const auto flags = ParseCorpusEncoderFlags(
      {"--store=/s", "--model=" + Model(),
       "--corpus=textcaps:/t.json,ocr=/o.json,regions=npz:/n,region_id={id}"});
  REQUIRE(flags.ok());
  const auto by_flags = Read(flags->yaml);
  REQUIRE(by_flags.ok());
  REQUIRE(by_flags->corpora[0].root == "/t.json");
  REQUIRE(by_flags->corpora[0].published.ocr == "/o.json");
  REQUIRE(by_flags->corpora[0].published.regions == "npz:/n");
  REQUIRE(by_flags->corpora[0].published.region_id == "{id}");

  for (const char* corpus :
       {"{kind: coco}", "{kind: coco, root: /c}", "{kind: coco, file: /c, image: /i}",
        "{kind: coco, file: /c, captions_per_picture: many}", "{kind: folder, file: /c}"}) {
    CAPTURE(corpus);
    REQUIRE_FALSE(
        Read(absl::StrCat("store: /s\nmodel: ", Model(), "\ncorpora: [", corpus, "]")).ok());
  }
}

TEST_CASE("all problems are reported at once") {
  const auto config = Read(R"(
model: abc
reranker: def
images_index: Bad Name
captions_index: ""
feature_dtype: int4
vector_dtype: int8
index_build: {kind: nope}
compute: {precision: fastest}
device: {kind: tpu}
shards: 0
limits: {max_quarantine_share: 2}
corpora:
  - {kind: folder}
  - {kind: photos}
  - {kind: stamps, font: /x}
extra: 1
)");
  REQUIRE(absl::IsInvalidArgument(config.status()));
  const std::string message(config.status().message());
  for (const char* part :
       {"store", "model", "reranker", "images_index", "captions_index", "shards", "feature_dtype",
        "vector_dtype", "index_build", "max_quarantine_share", "compute.precision", "device.kind",
        "corpora[0].root", "corpora[1].kind", "corpora[2].font", "extra"}) {
    CAPTURE(part, message);
    REQUIRE_THAT(message, Catch::Contains(part));
  }
  REQUIRE_THAT(std::string(Read(absl::StrCat("store: /s\nmodel: ", Model(),
                                             "\ncorpora: [{kind: stamps}]\ncaptions_index: images"))
                               .status()
                               .message()),
               Catch::Contains("must differ from images_index"));
}

TEST_CASE("rerankers are one or a list, and the one without a name is the default") {
  const std::string a(64, 'a'), b(64, 'b'), c(64, 'c');
  const auto read = [](const std::string& more) {
    return Read(absl::StrCat("store: /s\nmodel: ", Model(), "\ncorpora: [{kind: stamps}]\n", more));
  };
  using Rerankers = std::vector<NamedReranker>;
  REQUIRE(read("")->rerankers.empty());
  REQUIRE(read("reranker: " + a)->rerankers == Rerankers{{"default", a}});
  REQUIRE(read("reranker: fine=" + a)->rerankers == Rerankers{{"fine", a}});
  REQUIRE(read(absl::StrCat("rerankers: [x=", a, ", ", b, ", y=", c, "]"))->rerankers ==
          Rerankers{{"default", b}, {"x", a}, {"y", c}});
  REQUIRE(read(absl::StrCat("rerankers: [x=", a, ", y=", b, "]"))->rerankers ==
          Rerankers{{"x", a}, {"y", b}});
  for (const auto& [more, problem] : std::vector<std::pair<std::string, std::string>>{
           {absl::StrCat("reranker: ", a, "\nrerankers: [x=", b, "]"), "excludes reranker"},
           {absl::StrCat("rerankers: [", a, ", ", b, "]"), "there twice"},
           {absl::StrCat("rerankers: [x=", a, ", y=", a, "]"), "another name already"},
           {absl::StrCat("rerankers: [X=", a, "]"), "must be named"},
           {"rerankers: [x=short]", "64 lower-case hex digits"}}) {
    const absl::Status status = read(more).status();
    REQUIRE(absl::IsInvalidArgument(status));
    REQUIRE_THAT(std::string(status.message()), Catch::Contains(problem));
  }
  const auto flags = ParseCorpusEncoderFlags({"--store=/s", "--model=" + Model(), "--corpus=stamps",
                                              "--reranker", a, "--reranker=x=" + b});
  REQUIRE(flags.ok());
  REQUIRE(Read(flags->yaml)->rerankers == Rerankers{{"default", a}, {"x", b}});
}

TEST_CASE("a worker's number is its pod's completion index, unless it is given") {
  const std::string job =
      absl::StrCat("store: /s\nmodel: ", Model(), "\ncorpora: [{kind: stamps}]\n");
  const auto problem = [&](const std::string& more) {
    const absl::Status status = Read(job + more).status();
    REQUIRE(absl::IsInvalidArgument(status));
    return std::string(status.message());
  };
  ::unsetenv("JOB_COMPLETION_INDEX");
  REQUIRE_THAT(problem("workers: 3\n"), Catch::Contains("JOB_COMPLETION_INDEX"));
  REQUIRE_THAT(problem("workers: 3\nworker: 3\n"), Catch::Contains("worker"));
  ::setenv("JOB_COMPLETION_INDEX", "2", 1);
  REQUIRE(Read(job + "workers: 3\n")->job.share.worker == 2);
  REQUIRE(Read(job + "workers: 3\nworker: 1\n")->job.share.worker == 1);
  REQUIRE_THAT(problem(""),
               Catch::Contains("JOB_COMPLETION_INDEX is 2") && Catch::Contains("completions"));
  REQUIRE_THAT(problem("workers: 2\n"), Catch::Contains("must be below workers"));
  ::setenv("JOB_COMPLETION_INDEX", "two", 1);
  REQUIRE_THAT(problem("workers: 3\n"), Catch::Contains("JOB_COMPLETION_INDEX"));
  ::setenv("JOB_COMPLETION_INDEX", "0", 1);
  REQUIRE(Read(job)->job.share.worker == 0);
  ::unsetenv("JOB_COMPLETION_INDEX");
}

TEST_CASE("flags say the same as a file") {
  const auto flags = ParseCorpusEncoderFlags({"--store",
                                              "/it's: here",
                                              absl::StrCat("--model=", Model()),
                                              "--corpus",
                                              "stamps",
                                              "--corpus=folder:/my pictures:all",
                                              "--corpus",
                                              "clipart:/png",
                                              "--corpus",
                                              "emoji:/f.ttf",
                                              "--shards",
                                              "2",
                                              "--base",
                                              "none",
                                              "--worker=0",
                                              "--workers=2",
                                              "--threads=1",
                                              "--max-quarantine-share",
                                              "0.25",
                                              "--no-publish",
                                              "--device=cpu",
                                              "--precision=int8",
                                              "--feature-dtype=float32",
                                              "--vector-dtype=float16"});
  REQUIRE(flags.ok());
  const auto config = Read(flags->yaml);
  REQUIRE(config.ok());
  REQUIRE(config->job.store == "/it's: here");
  REQUIRE(config->job.shard_count == 2);
  REQUIRE(config->job.feature_dtype == Dtype::kFloat32);
  REQUIRE(config->job.vector_dtype == Dtype::kFloat16);
  REQUIRE(config->job.base == "none");
  REQUIRE(config->job.share.workers == 2);
  REQUIRE(config->compute.threads == 1);
  REQUIRE(config->place.execution.on_cpu());
  REQUIRE(config->precision.policy.precision == "int8");
  REQUIRE(config->job.max_quarantine_share == 0.25);
  REQUIRE(!config->job.publish);
  REQUIRE(config->corpora.size() == 4);
  REQUIRE(config->corpora[1].root == "/my pictures:all");
  REQUIRE(config->corpora[2].root == "/png");
  REQUIRE(config->corpora[3].root == "/f.ttf");
}

TEST_CASE("flags that make no sense are refused") {
  REQUIRE(ParseCorpusEncoderFlags({"--help"})->help);
  REQUIRE_THAT(CorpusEncoderUsage(), Catch::Contains("--max-quarantine-share"));
  REQUIRE(ParseCorpusEncoderFlags({"--config=x", "--check"})->config_path == "x");
  REQUIRE(ParseCorpusEncoderFlags({"--config", "x", "--check"})->check);
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--stroe", "x"},
                                             {"--store"},
                                             {"x"},
                                             {"--config", "x", "--store", "y"},
                                             {"--store", "x", "--store", "y"},
                                             {"--config", "x", "--no-publish"}}) {
    REQUIRE(absl::IsInvalidArgument(ParseCorpusEncoderFlags(arguments).status()));
  }
}

}  // namespace
}  // namespace sightline
