// Asks a fleet for the exact answers that recall is measured against.
#ifndef SIGHTLINE_LOADTEST_RUN_ASK_EXACTLY_H_
#define SIGHTLINE_LOADTEST_RUN_ASK_EXACTLY_H_

#include "absl/status/statusor.h"
#include "common/base/call_context.h"
#include "common/clients/search_client.h"
#include "loadtest/measure/exact_answers.h"
#include "loadtest/run/planned_traffic.h"

namespace sightline {

// The answers to the traffic's exact questions, which are asked one after another.  A question
// that no item answers has none.  FailedPrecondition for an answer that was not searched exactly or
// lacks a shard; errors of the client; each with the question.
absl::StatusOr<ExactAnswers> AskExactly(const PlannedTraffic& traffic, SearchClient* client,
                                        const CallContext& call);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_RUN_ASK_EXACTLY_H_
