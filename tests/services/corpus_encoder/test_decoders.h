// Decoders for tests.
#ifndef SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_TEST_DECODERS_H_
#define SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_TEST_DECODERS_H_

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "services/corpus_encoder/decoder_pool.h"

namespace sightline {

// Make it while the test has one thread.
class TestDecoders {
 public:
  explicit TestDecoders(DecodeFunction decode = DecodeImage,
                        absl::Duration timeout = absl::Seconds(60))
      : starter_(Started(std::move(decode))), pool_(starter_.get(), timeout) {}

  DecoderPool* pool() { return &pool_; }

 private:
  static std::unique_ptr<DecoderStarter> Started(DecodeFunction decode) {
    auto starter = DecoderStarter::Create(std::move(decode));
    if (!starter.ok()) throw std::runtime_error(std::string(starter.status().message()));
    return *std::move(starter);
  }

  const std::unique_ptr<DecoderStarter> starter_;
  DecoderPool pool_;
};

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SERVICES_CORPUS_ENCODER_TEST_DECODERS_H_
