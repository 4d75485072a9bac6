// Many values of one kind, put aside on disk and read again in order.
#ifndef SIGHTLINE_SERVICES_CORPUS_ENCODER_ITEM_SPOOL_H_
#define SIGHTLINE_SERVICES_CORPUS_ENCODER_ITEM_SPOOL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/spool.h"
#include "common/base/status_macros.h"
#include "services/corpus_encoder/item_codec.h"

namespace sightline {

// A Spool (its rules hold here) of values that have FieldsOf (item_codec.h).
template <typename Value>
class ItemSpool {
 public:
  static absl::StatusOr<ItemSpool> Create(absl::string_view directory, ItemCodec codec) {
    ASSIGN_OR_RETURN(std::unique_ptr<Spool> spool, Spool::Create(directory));
    return ItemSpool(std::move(spool), std::move(codec));
  }

  absl::Status Add(const Value& value) {
    record_.clear();
    codec_.Append(value, &record_);
    return spool_->Add(record_);
  }
  absl::Status Finish() { return spool_->Finish(); }
  int64_t size() const { return spool_->size(); }

  class Reader {
   public:
    explicit Reader(const ItemSpool& items) : codec_(&items.codec_), reader_(*items.spool_) {}

    // False after the last, and `value` is as it was.
    absl::StatusOr<bool> Next(Value* value) {
      absl::string_view record;
      ASSIGN_OR_RETURN(const bool more, reader_.Next(&record));
      if (!more) return false;
      ByteReader bytes(record);
      if (codec_->Read(bytes, value)) return true;
      return absl::DataLossError("a temporary file of this process has been changed");
    }

   private:
    const ItemCodec* codec_;
    Spool::Reader reader_;
  };

 private:
  ItemSpool(std::unique_ptr<Spool> spool, ItemCodec codec)
      : spool_(std::move(spool)), codec_(std::move(codec)) {}

  std::unique_ptr<Spool> spool_;
  ItemCodec codec_;
  std::string record_;
};

}  // namespace sightline

#endif  // SIGHTLINE_SERVICES_CORPUS_ENCODER_ITEM_SPOOL_H_
