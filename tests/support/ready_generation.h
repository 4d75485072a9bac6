// Puts a generation into a registry as a server does that has loaded it.
#ifndef SIGHTLINE_TESTS_SUPPORT_READY_GENERATION_H_
#define SIGHTLINE_TESTS_SUPPORT_READY_GENERATION_H_

#include <memory>
#include <utility>

#include "common/generations/generation_registry.h"

namespace sightline {

template <typename T>
void PutReady(GenerationRegistry<T>* registry, const bundle::v1::GenerationManifest& manifest,
              std::shared_ptr<const T> held, int64_t sequence = 1) {
  HeldGeneration entry;
  entry.index = manifest.index();
  entry.generation = manifest.generation();
  entry.state = HoldState::kReady;
  entry.sequence = sequence;
  entry.manifest = std::make_shared<const bundle::v1::GenerationManifest>(manifest);
  entry.held = std::move(held);
  registry->table()->Put(std::move(entry));
}

}  // namespace sightline

#endif  // SIGHTLINE_TESTS_SUPPORT_READY_GENERATION_H_
