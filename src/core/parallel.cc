#include "core/parallel.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <mutex>

#include "core/check.h"

namespace pantograph {
namespace {

constexpr int kMostThreads = 1024;  // OpenMP ends the program where the system has no more

}  // namespace

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  const std::int64_t most =
      (count + std::max<std::int64_t>(grain, 1) - 1) / std::max<std::int64_t>(grain, 1);
  const auto parts = std::min<std::int64_t>(omp_get_max_threads(), most);
  if (parts <= 1) {
    body(0, count);
    return;
  }
  std::exception_ptr failure;
  std::mutex failure_mutex;
#pragma omp parallel for num_threads(static_cast<int>(parts)) schedule(static, 1)
  for (std::int64_t part = 0; part < parts; ++part) {
    try {
      body(count / parts * part + std::min(part, count % parts),
           count / parts * (part + 1) + std::min(part + 1, count % parts));
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

ThreadLimit::ThreadLimit(int threads) : before_(omp_get_max_threads()) {
  if (threads < 0 || threads > kMostThreads) {
    fail(ErrorKind::kInvalidArgument, threads, " threads; expected 1 to ", kMostThreads,
         ", or 0 for one a core");
  }
  omp_set_num_threads(threads > 0 ? threads : available_cores());
}

ThreadLimit::~ThreadLimit() {
  omp_set_num_threads(before_);
}

}  // namespace pantograph
