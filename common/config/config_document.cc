#include "common/config/config_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <exception>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clean_text.h"
#include "common/base/utf8.h"
#include "common/config/config.h"

namespace sightline {
namespace config_internal {
namespace {

Position PositionOf(const YAML::Mark& mark) {
  // A null mark has line -1.
  return {mark.line < 0 ? 1 : mark.line + 1, mark.column < 0 ? 1 : mark.column + 1};
}

// Thrown out of yaml-cpp's parser by the builder below, caught in ParseDocument.
class Refused : public std::exception {
 public:
  Refused(const YAML::Mark& mark, std::string why)
      : position_(PositionOf(mark)), why_(std::move(why)) {}
  const Position& position() const { return position_; }
  const std::string& why() const { return why_; }

 private:
  Position position_;
  std::string why_;
};

// Builds the tree from the parser's events.  Events come one by one, so limits hold
// before memory is spent, and an alias is seen before it is expanded.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(Document* document) : document_(document) {}

  std::unique_ptr<Node> TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(mark, "", anchor, Node::Kind::kNull);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused(mark, "aliases (*name) are not supported; write the value out");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (value.find('\0') != std::string::npos) throw Refused(mark, "a value holds a NUL character");
    if (AtKey()) {
      CheckPlain(mark, tag, anchor);
      SetKey(mark, value);
      return;
    }
    Add(mark, tag, anchor, Node::Kind::kScalar)->scalar = value;
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, Add(mark, tag, anchor, Node::Kind::kList));
  }
  void OnSequenceEnd() override { open_.pop_back(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, Add(mark, tag, anchor, Node::Kind::kMap));
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  struct Level {
    Node* node;
    bool has_key = false;  // of a map: the next event is the value of the last entry
    bool skip = false;     // of a map: that value belongs to a key that was there before
    std::set<std::string> keys;
  };

  bool AtKey() const {
    return !open_.empty() && open_.back().node->kind == Node::Kind::kMap && !open_.back().has_key;
  }

  static void CheckPlain(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) throw Refused(mark, "anchors (&name) are not supported; write the value out");
    // "?" stands for no tag, "!" for quotes.
    if (!tag.empty() && tag != "?" && tag != "!") throw Refused(mark, "tags are not supported");
  }

  void SetKey(const YAML::Mark& mark, const std::string& key) {
    Level& level = open_.back();
    level.has_key = true;
    level.skip = !level.keys.insert(key).second;
    if (level.skip) {
      document_->problems.push_back(
          {PositionOf(mark), absl::StrCat("the key ", CleanText(key, 60), " stands here twice")});
      return;
    }
    level.node->entries.push_back({key, PositionOf(mark), nullptr, false});
  }

  Node* Add(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            Node::Kind kind) {
    CheckPlain(mark, tag, anchor);
    if (AtKey()) throw Refused(mark, "a key must be a plain word");
    if (++nodes_ > ConfigFile::kMaxNodes) {
      throw Refused(mark, absl::StrCat("more than ", ConfigFile::kMaxNodes, " values"));
    }
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->position = PositionOf(mark);
    Node* const added = node.get();
    if (open_.empty()) {
      root_ = std::move(node);
      return added;
    }
    Level& level = open_.back();
    if (level.node->kind == Node::Kind::kList) {
      level.node->items.push_back(std::move(node));
    } else if (level.skip) {
      skipped_.push_back(std::move(node));
    } else {
      level.node->entries.back().value = std::move(node);
    }
    level.has_key = false;
    return added;
  }

  void Open(const YAML::Mark& mark, Node* node) {
    if (open_.size() >= ConfigFile::kMaxDepth) {
      throw Refused(mark, absl::StrCat("nested deeper than ", ConfigFile::kMaxDepth, " levels"));
    }
    open_.emplace_back();
    open_.back().node = node;
  }

  Document* const document_;
  std::unique_ptr<Node> root_;
  std::vector<std::unique_ptr<Node>> skipped_;  // alive until their content was read
  std::vector<Level> open_;
  int nodes_ = 0;
};

absl::Status Refusal(absl::string_view source_name, const Position& position,
                     absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(source_name, ":", position.line, ":", position.column, ": ", why));
}

// Runs the parser over the one document that there may be.
void Build(absl::string_view text, TreeBuilder* builder) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  if (!parser.HandleNextDocument(*builder)) return;
  // Looks for a second document with a builder whose result nobody wants.
  Document ignored;
  TreeBuilder second(&ignored);
  if (parser.HandleNextDocument(second)) {
    throw Refused(YAML::Mark(), "the file holds more than one YAML document");
  }
}

}  // namespace

absl::string_view KindName(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kNull:
      return "nothing";
    case Node::Kind::kScalar:
      return "a single value";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a map";
  }
  return "";
}

absl::StatusOr<std::unique_ptr<Document>> ParseDocument(absl::string_view text,
                                                        absl::string_view source_name) {
  if (static_cast<int64_t>(text.size()) > ConfigFile::kMaxBytes) {
    return Refusal(source_name, {},
                   absl::StrCat("the file has ", text.size(), " bytes; at most ",
                                ConfigFile::kMaxBytes, " are read"));
  }
  if (!IsValidUtf8(text)) return Refusal(source_name, {}, "the file is not UTF-8 text");

  auto document = std::make_unique<Document>();
  document->source_name = std::string(source_name);
  TreeBuilder builder(document.get());
  try {
    Build(text, &builder);
  } catch (const Refused& refused) {
    return Refusal(source_name, refused.position(), refused.why());
  } catch (const YAML::Exception& error) {
    return Refusal(source_name, PositionOf(error.mark), CleanText(error.msg, 200));
  } catch (const std::exception& error) {
    return Refusal(source_name, {}, absl::StrCat("cannot be read as YAML: ", error.what()));
  }

  document->root = builder.TakeRoot();
  if (document->root == nullptr || document->root->kind == Node::Kind::kNull) {
    document->root = std::make_unique<Node>();
    document->root->kind = Node::Kind::kMap;
  }
  if (document->root->kind != Node::Kind::kMap) {
    return Refusal(
        source_name, document->root->position,
        absl::StrCat("wants a map (name: value) at the top, has ", KindName(document->root->kind)));
  }
  return document;
}

}  // namespace config_internal
}  // namespace sightline
