// The processes of a world, played by threads of one.
#ifndef SIGHTLINE_TESTS_COMMON_TRAINING_IN_WORLDS_H_
#define SIGHTLINE_TESTS_COMMON_TRAINING_IN_WORLDS_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/models/inference.h"
#include "common/training/world.h"
#include "loadtest/fleet/free_ports.h"

namespace sightline {

// Of processes that meet here, where nobody else does.
inline std::vector<TrainingWorldOptions> OptionsOfWorld(int size,
                                                        absl::Duration timeout = absl::Minutes(1)) {
  TrainingWorldOptions one;
  one.size = size;
  one.host = "127.0.0.1";
  one.all_local = true;
  one.port = (*ChooseFreePorts(1))[0];
  one.timeout = timeout;
  std::vector<TrainingWorldOptions> all(size, one);
  for (int rank = 0; rank < size; ++rank) all[rank].rank = rank;
  return all;
}

// What each of `size` threads ends with.  Catch counts in one thread alone: `work` is not to
// assert.
inline std::vector<absl::Status> InThreads(int size, const std::function<absl::Status(int)>& work) {
  std::vector<absl::Status> ends(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&work, &ends, rank] {
      ends[rank] = RunGuarded("play a process", [&] { return work(rank); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ends;
}

// The same of threads that have joined a world; it ends with `work`.
inline std::vector<absl::Status> InWorlds(int size,
                                          const std::function<absl::Status(TrainingWorld*)>& work,
                                          absl::Duration timeout = absl::Minutes(1)) {
  const std::vector<TrainingWorldOptions> options = OptionsOfWorld(size, timeout);
  return InThreads(size, [&](int rank) {
    const auto world = TrainingWorld::Join(options[rank]);
    return world.ok() ? work(world->get()) : world.status();
  });
}

// What went wrong in any of them; empty if nothing did.
inline std::string Failures(const std::vector<absl::Status>& ends) {
  std::string all;
  for (const absl::Status& end : ends) {
    if (!end.ok()) all += end.ToString() + "\n";
  }
  return all;
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_COMMON_TRAINING_IN_WORLDS_H_
