// How many cores this process may use: the one answer for everything that counts threads.
#ifndef SIGHTLINE_COMMON_BASE_USABLE_CORES_H_
#define SIGHTLINE_COMMON_BASE_USABLE_CORES_H_

#include <string>

namespace sightline {

// The cores that the scheduler may run the process on (sched_getaffinity), or fewer where a
// control group limits its CPU time: cpu.max of version 2, cpu.cfs_quota_us of version 1,
// the least along the path from the process's group to the root.  At least 1.
//
// A limit is rounded down.  One thread more than the limit holds uses each period's time up
// before the period ends, and then all of them, those that answer callers among them, stand
// still until the next; what the fraction is worth is left to the threads that do not compute.
int UsableCores();

// The cores' worth of CPU time that control groups leave the process, or 0 where they set no
// limit, as files below `root` say: "/" for those of this machine, another for tests.
double CpuLimit(const std::string& root);

// The rule by which UsableCores joins the two.
int CoresWithin(int allowed_cores, double cpu_limit);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_BASE_USABLE_CORES_H_
