#include "common/training/world.h"

#include <ATen/ATen.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/descriptor.h"
#include "common/base/status_macros.h"
#include "tests/common/training/in_worlds.h"
#include "tests/support/catch.h"

namespace sightline {
namespace {

absl::Status Check(bool holds, absl::string_view what) {
  return holds ? absl::OkStatus() : absl::InternalError(what);
}

TEST_CASE("a part is a process's, and all parts are all rows") {
  for (const int size : {1, 2, 3, 5}) {
    for (const int64_t count : {0, 1, 2, 7, 96}) {
      INFO(size << " processes, " << count << " rows");
      std::vector<WorldPart> parts(size);
      REQUIRE(Failures(InWorlds(size, [&](TrainingWorld* world) {
                parts[world->rank()] = world->PartOf(count);
                return absl::OkStatus();
              })) == "");
      int64_t next = 0;
      for (const WorldPart& part : parts) {
        REQUIRE(part.begin == next);
        REQUIRE(part.count() >= count / size);
        REQUIRE(part.count() <= (count + size - 1) / size);
        next = part.end;
      }
      REQUIRE(next == count);
    }
  }
}

TEST_CASE("rows of all processes come in their order, however many each has") {
  // Process 1 has none, and need not know how wide they are.
  const std::vector<int64_t> counts = {2, 0, 3};
  REQUIRE(
      Failures(InWorlds(3, [&](TrainingWorld* world) -> absl::Status {
        const int64_t count = counts[world->rank()];
        const at::Tensor own = (at::arange(count * 4, at::kFloat) + 100.0 * world->rank())
                                   .view({count, count == 0 ? 0 : 4})
                                   .set_requires_grad(true);
        ASSIGN_OR_RETURN(const GatheredRows all, world->GatherRows(own));
        const at::Tensor expected =
            at::cat({at::arange(8, at::kFloat), at::arange(12, at::kFloat) + 200.0}).view({5, 4});
        RETURN_IF_ERROR(Check(at::equal(all.rows, expected), "other rows"));
        RETURN_IF_ERROR(Check(!all.rows.requires_grad(), "a graph"));
        RETURN_IF_ERROR(
            Check(all.begin == std::vector<int64_t>({0, 2, 2})[world->rank()], "begin"));
        ASSIGN_OR_RETURN(const GatheredRows none, world->GatherRows(at::empty({0, 4})));
        return Check(none.rows.size(0) == 0, "rows of nothing");
      })) == "");
}

TEST_CASE("rows of different widths are refused by all") {
  const auto ends = InWorlds(2, [](TrainingWorld* world) {
    return world->GatherRows(at::zeros({1, 4 + world->rank()})).status();
  });
  for (const absl::Status& end : ends) {
    REQUIRE(end.code() == absl::StatusCode::kInternal);
    REQUIRE(absl::StrContains(end.message(), "rows of 4 and of 5 numbers"));
  }
}

TEST_CASE("sums are of all processes, in place") {
  REQUIRE(Failures(InWorlds(3, [](TrainingWorld* world) -> absl::Status {
            const double own = world->rank() + 1;
            const at::Tensor flat = at::full({5}, own), empty = at::empty({0}),
                             scalar = at::full({}, own, at::kDouble),
                             leaf = at::full({2, 3}, own).set_requires_grad(true),
                             turned = at::full({2, 3}, own).t();
            RETURN_IF_ERROR(world->AddUp({flat, empty, scalar, leaf, turned}));
            for (const at::Tensor& sum : {flat, scalar, leaf, turned}) {
              RETURN_IF_ERROR(Check(sum.eq(6).all().item<bool>(), "another sum"));
            }
            ASSIGN_OR_RETURN(const int64_t sum, world->SumOf(10 + world->rank()));
            return Check(sum == 33, absl::StrCat("sum ", sum));
          })) == "");
}

TEST_CASE("what process 0 has, all get") {
  REQUIRE(
      Failures(InWorlds(3, [](TrainingWorld* world) -> absl::Status {
        const double own = 7 + world->rank();
        const at::Tensor floats = at::full({3, 2}, own).set_requires_grad(true),
                         numbers = at::full({4}, own, at::kLong), none = at::empty({0});
        RETURN_IF_ERROR(world->TakeFromFirst({floats, none, numbers}));
        RETURN_IF_ERROR(Check(floats.eq(7).all().item<bool>(), "floats"));
        RETURN_IF_ERROR(Check(numbers.eq(7).all().item<bool>(), "numbers"));
        for (const std::string& text : {std::string(), std::string("a"), std::string(5000, 'x')}) {
          ASSIGN_OR_RETURN(
              const std::string told,
              world->TextOfFirst(world->is_first() ? text : std::string(world->rank(), '?')));
          RETURN_IF_ERROR(Check(told == text, absl::StrCat("told ", told)));
        }
        return absl::OkStatus();
      })) == "");
}

TEST_CASE("what fails in one process fails in all, and says where") {
  std::vector<absl::Status> later(3);
  const auto ends = InWorlds(3, [&](TrainingWorld* world) {
    const absl::Status agreed = world->Agree(
        world->rank() == 1 ? absl::NotFoundError("no such picture") : absl::OkStatus());
    // The world goes on.
    later[world->rank()] = world->Agree(absl::OkStatus());
    return agreed;
  });
  for (int rank = 0; rank < 3; ++rank) {
    REQUIRE(ends[rank].code() == absl::StatusCode::kNotFound);
    REQUIRE(ends[rank].message() ==
            (rank == 1 ? "no such picture" : "process 1 of 3: no such picture"));
    REQUIRE(later[rank].ok());
  }
}

TEST_CASE("a process that has ended ends the others, who say so, and for good") {
  const auto ends = InWorlds(3, [](TrainingWorld* world) -> absl::Status {
    if (world->rank() == 1) return absl::OkStatus();
    const at::Tensor sum = at::ones({1000});
    const absl::Status lost = world->AddUp({sum});
    RETURN_IF_ERROR(Check(world->TakeFromFirst({sum}) == lost, "another end"));
    RETURN_IF_ERROR(Check(world->Agree(absl::OkStatus()) == lost, "an agreement"));
    // Whoever has reasons of its own keeps them.
    const absl::Status own = absl::CancelledError("stopped");
    RETURN_IF_ERROR(Check(world->Agree(own) == own, "not its own"));
    return lost;
  });
  for (const int rank : {0, 2}) {
    REQUIRE(ends[rank].code() == absl::StatusCode::kUnavailable);
    REQUIRE(absl::StrContains(ends[rank].message(), absl::StrCat("process ", rank, " of 3")));
    REQUIRE(absl::StrContains(ends[rank].message(), "another one has ended"));
  }
}

TEST_CASE("a process that is silent for too long is taken for one that has ended") {
  std::promise<void> given_up;
  const auto ends = InWorlds(
      2,
      [&](TrainingWorld* world) -> absl::Status {
        if (world->rank() == 1) {
          given_up.get_future().wait();
          return absl::OkStatus();
        }
        const absl::Status lost = world->SumOf(1).status();
        given_up.set_value();
        return lost;
      },
      absl::Seconds(1));
  REQUIRE(ends[0].code() == absl::StatusCode::kUnavailable);
  REQUIRE(absl::StrContains(ends[0].message(), "was not heard of for 1s"));
}

TEST_CASE("processes that do not come are waited for as long as is said, and no longer") {
  for (const int rank : {0, 1}) {
    INFO(rank);
    const TrainingWorldOptions alone = OptionsOfWorld(2, absl::Seconds(1))[rank];
    const absl::Status status = TrainingWorld::Join(alone).status();
    REQUIRE(status.code() == absl::StatusCode::kUnavailable);
    REQUIRE(absl::StrContains(status.message(), absl::StrCat("127.0.0.1:", alone.port)));
    REQUIRE(absl::StrContains(status.message(), "within 1s"));
  }
}

TEST_CASE("a port that another program has is told by the process that was to wait there") {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(socket.get(), any, length) == 0);
  REQUIRE(::listen(socket.get(), 1) == 0);
  REQUIRE(::getsockname(socket.get(), any, &length) == 0);
  TrainingWorldOptions first = OptionsOfWorld(2, absl::Minutes(10))[0];
  first.port = ntohs(address.sin_port);
  const absl::Status status = TrainingWorld::Join(first).status();
  REQUIRE(status.code() == absl::StatusCode::kUnavailable);
  REQUIRE(absl::StrContains(status.message(),
                            absl::StrCat("cannot wait for the others at 127.0.0.1:", first.port)));
}

TEST_CASE("numbers that no world has are refused") {
  TrainingWorldOptions options;
  options.rank = 2;
  options.size = 2;
  REQUIRE(TrainingWorld::Join(options).status().code() == absl::StatusCode::kInvalidArgument);
  options.rank = 0;
  options.timeout = absl::ZeroDuration();
  REQUIRE(TrainingWorld::Join(options).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("between CPUs gloo exchanges, and is named") {
  REQUIRE(Failures(InWorlds(2, [](TrainingWorld* world) {
            return Check(world->engine() == "gloo", world->engine());
          })) == "");
}

TEST_CASE("a world of one has nobody to ask") {
  TrainingWorld world;
  REQUIRE(world.is_alone());
  const at::Tensor rows = at::ones({2, 3});
  REQUIRE(at::equal(world.GatherRows(rows)->rows, rows));
  REQUIRE(world.AddUp({rows}).ok());
  REQUIRE(rows.eq(1).all().item<bool>());
  REQUIRE(*world.SumOf(4) == 4);
  REQUIRE(*world.TextOfFirst("own") == "own");
  REQUIRE(world.Agree(absl::NotFoundError("gone")) == absl::NotFoundError("gone"));
  REQUIRE((*TrainingWorld::Join({}))->is_alone());
}

}  // namespace
}  // namespace sightline
