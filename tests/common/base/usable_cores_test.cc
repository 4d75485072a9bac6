#include "common/base/usable_cores.h"

#include <sched.h>

#include <string>

#include "common/base/files.h"
#include "tests/support/catch.h"
#include "tests/support/temp_dir.h"

namespace sightline {
namespace {

// A machine's files, as a process in some control group sees them.
struct Machine {
  void Write(const std::string& path, const std::string& content) const {
    const std::string whole = JoinPath(root.path(), path);
    REQUIRE(MakeDirectories(whole.substr(0, whole.rfind('/'))).ok());
    REQUIRE(WriteFileAtomically(whole, content).ok());
  }
  double Limit() const { return CpuLimit(root.path()); }

  TempDir root;
};

TEST_CASE("without control groups, and in groups without a limit, there is none") {
  Machine machine;
  CHECK(machine.Limit() == 0);
  machine.Write("proc/self/cgroup", "0::/system.slice/router.service\n");
  CHECK(machine.Limit() == 0);
  machine.Write("sys/fs/cgroup/system.slice/router.service/cpu.max", "max 100000\n");
  CHECK(machine.Limit() == 0);
  machine.Write("sys/fs/cgroup/system.slice/router.service/cpu.max", "nonsense\n");
  CHECK(machine.Limit() == 0);
  machine.Write("proc/self/cgroup", "3:cpu,cpuacct:/\n");
  machine.Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  machine.Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  CHECK(machine.Limit() == 0);
}

TEST_CASE("version 2: the least limit from the group to the root counts") {
  Machine machine;
  machine.Write("proc/self/cgroup", "0::/pods/router\n");
  machine.Write("sys/fs/cgroup/pods/router/cpu.max", "350000 100000\n");
  CHECK(machine.Limit() == 3.5);
  machine.Write("sys/fs/cgroup/pods/cpu.max", "100000 50000\n");
  CHECK(machine.Limit() == 2);
  machine.Write("sys/fs/cgroup/pods/cpu.max", "800000 100000\n");
  CHECK(machine.Limit() == 3.5);
}

TEST_CASE("version 2: a container that sees only its own group finds its limit at the root") {
  Machine machine;
  machine.Write("proc/self/cgroup", "0::/\n");
  machine.Write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  CHECK(machine.Limit() == 1.5);
  // The path as the host calls it names nothing here.
  machine.Write("proc/self/cgroup", "0::/kubepods/pod1/2f3a\n");
  CHECK(machine.Limit() == 1.5);
}

TEST_CASE("version 1: quota and period of the cpu controller, whatever it is mounted with") {
  Machine machine;
  machine.Write("proc/self/cgroup",
                "12:pids:/docker/1\n4:cpu,cpuacct:/docker/1\n2:cpuset:/\n0::/docker/1\n");
  machine.Write("sys/fs/cgroup/pids/docker/1/cpu.cfs_quota_us", "1\n");
  machine.Write("sys/fs/cgroup/pids/docker/1/cpu.cfs_period_us", "1\n");
  CHECK(machine.Limit() == 0);
  SECTION("by the names of all its controllers") {
    machine.Write("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us", "250000\n");
    machine.Write("sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000\n");
    CHECK(machine.Limit() == 2.5);
  }
  SECTION("by its own, in a container that sees its group as the root") {
    machine.Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "40000\n");
    machine.Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    CHECK(machine.Limit() == 0.4);
  }
}

TEST_CASE("a limit is rounded down, and one core is the least") {
  CHECK(CoresWithin(8, 0) == 8);
  CHECK(CoresWithin(8, 2) == 2);
  CHECK(CoresWithin(8, 2.9) == 2);
  CHECK(CoresWithin(8, 0.1) == 1);
  CHECK(CoresWithin(2, 16) == 2);
  CHECK(CoresWithin(0, 0) == 1);
  CHECK(CoresWithin(4, 1e300) == 4);
}

TEST_CASE("this process may use a core at least, and no more than it may run on") {
  cpu_set_t allowed;
  REQUIRE(::sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
  CHECK(UsableCores() >= 1);
  CHECK(UsableCores() <= CPU_COUNT(&allowed));
}

}  // namespace
}  // namespace sightline
