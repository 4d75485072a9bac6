#include "services/corpus_encoder/decoder_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <thread>

#include "tests/common/image/encode.h"
#include "tests/services/corpus_encoder/test_decoders.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

// What happens to a picture is in its width.
constexpr int kCrash = 101, kAbort = 102, kHang = 103, kSpin = 104, kAllocate = 105, kExit = 106,
              kWriteNonsense = 107, kGrow = 108, kShort = 109, kLong = 110;

absl::StatusOr<Pixels> DecodeHostile(absl::string_view bytes, const DecodeLimits& limits) {
  absl::StatusOr<Pixels> pixels = DecodeImage(bytes, limits);
  if (!pixels.ok()) return pixels;
  switch (pixels->width) {
    case kCrash:
      ::raise(SIGSEGV);
      break;
    case kAbort:
      std::abort();
    case kHang:
      ::pause();
      break;
    case kSpin:
      for (volatile int i = 0;; i = i + 1) {
      }
    case kAllocate:
      for (std::vector<std::string> all;;) all.emplace_back(size_t{64} << 20, 'x');
    case kExit:
      ::_exit(7);
    case kWriteNonsense:
      pixels->width = -1;
      break;
    case kGrow:
      return Gradient(200, 200);
    case kShort:
      pixels->rgb.pop_back();
      break;
    case kLong:
      pixels->rgb.push_back('x');
      break;
  }
  return pixels;
}

DecodeOrder Order(std::vector<int64_t> sides = {0}) {
  DecodeOrder order;
  order.limits.max_pixels = 100'000;
  order.sides = std::move(sides);
  order.admit = [](int64_t) { return absl::OkStatus(); };
  return order;
}

absl::StatusOr<DecodedPicture> Decode(TestDecoders& decoders, int width, int height = 3) {
  return decoders.pool()->Decode(EncodePng(Gradient(width, height)), Order(),
                                 CallContext::Unbounded());
}

std::string ProblemOf(TestDecoders& decoders, int width) {
  const auto picture = Decode(decoders, width);
  REQUIRE(picture.ok());
  REQUIRE(picture->pixels.empty());
  return picture->problem;
}

TEST_CASE("pictures come back as DecodeImage gives them, one after another") {
  TestDecoders decoders;
  for (const int width : {1, 7, 300}) {
    const Pixels expected = *DecodeImage(EncodePng(Gradient(width, 50)), DecodeLimits());
    const auto picture = Decode(decoders, width, 50);
    REQUIRE(picture.ok());
    REQUIRE(picture->problem.empty());
    REQUIRE(picture->pixels.size() == 1);
    REQUIRE(picture->pixels[0]->width == width);
    REQUIRE(picture->pixels[0]->rgb == expected.rgb);
  }
  REQUIRE(decoders.pool()->lost_count() == 0);
}

TEST_CASE("a picture is reduced on the far side, as ReducePicture does it here") {
  TestDecoders decoders;
  const std::string png = EncodePng(Gradient(300, 200));
  const auto picture = decoders.pool()->Decode(png, Order({10, 0}), CallContext::Unbounded());
  REQUIRE(picture.ok());
  const Pixels whole = *DecodeImage(png, DecodeLimits());
  const Pixels reduced = ReducePicture(whole, 10);
  REQUIRE(reduced.width < 50);
  REQUIRE(picture->pixels[0]->width == reduced.width);
  REQUIRE(picture->pixels[0]->rgb == reduced.rgb);
  REQUIRE(picture->pixels[1]->rgb == whole.rgb);
}

TEST_CASE("a picture comes back for each of many sides, equal ones as one") {
  TestDecoders decoders;
  const std::string png = EncodePng(Gradient(300, 200));
  const std::vector<int64_t> sides = {10, 0, 30, 10, 20, 0, 40, 50, 60, 10, 70};
  const auto picture = decoders.pool()->Decode(png, Order(sides), CallContext::Unbounded());
  REQUIRE(picture.ok());
  REQUIRE(picture->problem.empty());
  REQUIRE(picture->pixels.size() == sides.size());
  const Pixels whole = *DecodeImage(png, DecodeLimits());
  for (size_t i = 0; i < sides.size(); ++i) {
    const Pixels expected = sides[i] == 0 ? whole : ReducePicture(whole, sides[i]);
    REQUIRE(picture->pixels[i]->rgb == expected.rgb);
  }
  REQUIRE(picture->pixels[3] == picture->pixels[0]);
  REQUIRE(picture->pixels[5] == picture->pixels[1]);
  REQUIRE(decoders.pool()->lost_count() == 0);
}

TEST_CASE("what does not decode is a problem of the picture and costs no decoder") {
  TestDecoders decoders;
  const auto text = decoders.pool()->Decode("no picture", Order(), CallContext::Unbounded());
  REQUIRE_THAT(text->problem, Catch::Contains("no known format"));
  const auto cut = decoders.pool()->Decode(EncodePng(Gradient(50, 50)).substr(0, 200), Order(),
                                           CallContext::Unbounded());
  REQUIRE(!cut->problem.empty());
  const auto huge = Decode(decoders, 400, 400);
  REQUIRE_THAT(huge->problem, Catch::Contains("100000"));
  REQUIRE(decoders.pool()->lost_count() == 0);
}

TEST_CASE("a picture that takes its decoder down costs itself, the next one decodes") {
  TestDecoders decoders(DecodeHostile);
  REQUIRE_THAT(ProblemOf(decoders, kCrash), Catch::Contains("killed by signal 11"));
  REQUIRE_THAT(ProblemOf(decoders, kAbort), Catch::Contains("killed by signal 6"));
  REQUIRE_THAT(ProblemOf(decoders, kExit), Catch::Contains("ended with status 7"));
  REQUIRE_THAT(ProblemOf(decoders, kWriteNonsense), Catch::Contains("makes no sense"));
  REQUIRE(decoders.pool()->lost_count() == 8);  // each is tried twice
  REQUIRE(Decode(decoders, 5)->problem.empty());
  REQUIRE(decoders.pool()->lost_count() == 8);
}

TEST_CASE("a decoder that sends more or less than its header said is not believed") {
  TestDecoders decoders(DecodeHostile, absl::Seconds(1));
  REQUIRE_THAT(ProblemOf(decoders, kGrow), Catch::Contains("makes no sense"));
  REQUIRE(!ProblemOf(decoders, kShort).empty());
  // The byte too many is taken for the next answer, which is then tried again.
  static_cast<void>(Decode(decoders, kLong));
  const auto next = Decode(decoders, 5);
  REQUIRE(next->problem.empty());
  REQUIRE(next->pixels[0]->rgb == Gradient(5, 3).rgb);
}

// The address sanitizer ends a process whose `new` finds no memory; elsewhere it throws.
#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE(
    "a decoder offers itself when the machine runs out of memory, and has only what it needs") {
  TestDecoders decoders([](absl::string_view bytes, const DecodeLimits& limits) {
    absl::StatusOr<Pixels> pixels = DecodeImage(bytes, limits);
    int score = 0;
    if (std::FILE* file = std::fopen("/proc/self/oom_score_adj", "r")) {
      if (std::fscanf(file, "%d", &score) != 1) score = -1;
      std::fclose(file);
    }
    if (score != 1000) ::_exit(8);
    // A small picture has no room for this, though the limits would.
    std::string more(size_t{100} << 20, 'x');
    pixels->rgb[0] = static_cast<uint8_t>(more.back());
    return pixels;
  });
  DecodeOrder order = Order();
  order.limits.max_pixels = 60'000'000;
  const auto picture =
      decoders.pool()->Decode(EncodePng(Gradient(8, 5)), order, CallContext::Unbounded());
  REQUIRE(picture.ok());
  REQUIRE_THAT(picture->problem, Catch::Contains("more memory"));
  REQUIRE(picture->may_pass);
}

TEST_CASE("many sides take no more memory of a decoder than one") {
  TestDecoders decoders;
  // Too small to be reduced for any of them: forty copies would be 145 MB, 86 are allowed.
  std::vector<int64_t> sides(40);
  std::iota(sides.begin(), sides.end(), int64_t{1000});
  DecodeOrder order = Order(sides);
  order.limits.max_pixels = 2'000'000;
  const auto picture =
      decoders.pool()->Decode(EncodePng(Gradient(1100, 1100)), order, CallContext::Unbounded());
  REQUIRE(picture.ok());
  REQUIRE(picture->problem.empty());
  REQUIRE(picture->pixels.size() == sides.size());
}

TEST_CASE("a picture that takes all memory is told so, and its decoder lives on") {
  TestDecoders decoders(DecodeHostile);
  REQUIRE_THAT(ProblemOf(decoders, kAllocate), Catch::Contains("more memory"));
  REQUIRE(Decode(decoders, 5)->problem.empty());
  REQUIRE(decoders.pool()->lost_count() == 0);
}
#endif

TEST_CASE("a picture that hangs, in vain or at work, is given up") {
  TestDecoders decoders(DecodeHostile, absl::Milliseconds(200));
  for (const int width : {kHang, kSpin}) {
    REQUIRE_THAT(ProblemOf(decoders, width), Catch::Contains("longer than 200ms"));
  }
  REQUIRE(Decode(decoders, 5)->problem.empty());
}

TEST_CASE("a decoder that spoilt itself on an earlier picture does not cost the next") {
  // The first decoder dies of its second picture, whatever that is.
  const auto count = std::make_shared<int>(0);
  const pid_t test = ::getpid();
  TestDecoders decoders([count, test](absl::string_view bytes, const DecodeLimits& limits) {
    if (::getpid() != test && ++*count == 2) ::raise(SIGSEGV);
    return DecodeImage(bytes, limits);
  });
  REQUIRE(Decode(decoders, 5)->problem.empty());
  REQUIRE(Decode(decoders, 6)->problem.empty());
  REQUIRE(decoders.pool()->lost_count() == 1);
}

TEST_CASE("the size is known before memory is taken, and may be refused") {
  TestDecoders decoders;
  DecodeOrder order = Order();
  int64_t pixels = 0;
  order.admit = [&](int64_t count) {
    pixels = count;
    return absl::CancelledError("not now");
  };
  const auto picture =
      decoders.pool()->Decode(EncodePng(Gradient(8, 5)), order, CallContext::Unbounded());
  REQUIRE(absl::IsCancelled(picture.status()));
  REQUIRE(pixels == 40);
  REQUIRE(Decode(decoders, 5)->problem.empty());
}

TEST_CASE("a call that ends does not wait for a picture that hangs") {
  TestDecoders decoders(DecodeHostile);
  const CallContext call = CallContext::Unbounded();
  DecodeOrder order = Order();
  order.admit = [&](int64_t) {
    call.cancellation()->Cancel();
    return absl::OkStatus();
  };
  const auto picture = decoders.pool()->Decode(EncodePng(Gradient(kHang, 3)), order, call);
  REQUIRE(absl::IsCancelled(picture.status()));
}

TEST_CASE("many threads decode at one time, hostile pictures among them") {
  TestDecoders decoders(DecodeHostile);
  std::atomic<int> good{0}, bad{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const auto picture = Decode(decoders, i % 10 == t ? kCrash : 10 + i);
        if (!picture.ok()) continue;
        (picture->problem.empty() ? good : bad) += 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(good == 72);
  REQUIRE(bad == 8);
}

}  // namespace
}  // namespace sightline
