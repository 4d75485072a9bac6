#include "services/corpus_encoder/scanned_picture.h"

#include <algorithm>
#include <cstdint>

namespace sightline {
namespace {

void AppendTexts(const std::vector<std::string>& texts, std::string* bytes) {
  AppendLittleEndian(static_cast<uint32_t>(texts.size()), bytes);
  for (const std::string& text : texts) AppendText(text, bytes);
}

void ReadTexts(ByteReader& bytes, std::vector<std::string>* texts) {
  texts->clear();
  const auto count = bytes.Number<uint32_t>();
  for (uint32_t i = 0; i < count && bytes.ok(); ++i) texts->emplace_back(bytes.Text());
}

}  // namespace

PictureCodec::PictureCodec(absl::Span<const std::unique_ptr<CorpusReader>> readers) {
  for (const auto& reader : readers) readers_.push_back(reader.get());
  readers_.push_back(nullptr);
}

void PictureCodec::Append(const ScannedPicture& picture, std::string* bytes) const {
  const auto place = std::find(readers_.begin(), readers_.end(), picture.reader);
  AppendLittleEndian(static_cast<uint32_t>(place - readers_.begin()), bytes);
  AppendText(picture.item.item_id, bytes);
  AppendText(picture.item.path, bytes);
  AppendText(picture.sha256, bytes);
  AppendText(picture.scan, bytes);
  AppendLittleEndian(static_cast<uint32_t>(picture.item.captions.size()), bytes);
  for (const CorpusCaption& caption : picture.item.captions) {
    AppendText(caption.language, bytes);
    AppendText(caption.text, bytes);
  }
  AppendTexts(picture.item.tags, bytes);
  AppendTexts(picture.item.ocr_tokens, bytes);
}

bool PictureCodec::Read(ByteReader& bytes, ScannedPicture* picture) const {
  const auto place = bytes.Number<uint32_t>();
  if (place >= readers_.size()) return false;
  picture->reader = readers_[place];
  picture->item.item_id = std::string(bytes.Text());
  picture->item.path = std::string(bytes.Text());
  picture->sha256 = std::string(bytes.Text());
  picture->scan = std::string(bytes.Text());
  picture->item.captions.clear();
  const auto captions = bytes.Number<uint32_t>();
  for (uint32_t i = 0; i < captions && bytes.ok(); ++i) {
    CorpusCaption caption;
    caption.language = std::string(bytes.Text());
    caption.text = std::string(bytes.Text());
    picture->item.captions.push_back(std::move(caption));
  }
  ReadTexts(bytes, &picture->item.tags);
  ReadTexts(bytes, &picture->item.ocr_tokens);
  return bytes.ok();
}

}  // namespace sightline
