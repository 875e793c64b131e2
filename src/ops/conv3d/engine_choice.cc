#include "ops/conv3d/engine_choice.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/log.h"
#include "device/check.h"
#include "ops/conv3d/engine_trial.h"
#include "ops/cudnn/engine_cache.h"
#include "ops/cudnn/engine_store.h"

namespace pantograph::ops::cudnn {

struct EngineTable {
  EngineTable(const device::Gpu& gpu, const std::filesystem::path& cache);
  // What a compiled engine depends on: cuDNN loads it on an identical GPU only.
  [[nodiscard]] std::string compiled_key(const std::string& problem,
                                         const std::string& choice) const {
    return join(platform, ": ", problem, ": ", choice);
  }
  std::string platform;  // "NVIDIA H200 with 132 multiprocessors, cuDNN 9.19.0"
  std::mutex mutex;
  EngineCache remembered;
  EngineStore compiled;
  std::map<std::string, std::shared_ptr<const Engine>> ready;
  // Choices of this process by family, each with its number of frames.
  std::map<std::string, std::map<std::int64_t, std::string>> chosen;
  // Numbers of frames for which a choice has begun, by family.
  std::map<std::string, std::multiset<std::int64_t>> choosing;
};

namespace {

constexpr int kMostTimed = 4;  // of the engines that the heuristics put first
// Below this an engine's choice does not matter and the first right one is taken.
constexpr double kLeastFlops = 2e9;
// A GPU that was idle is faster for a while than its power limit lets it be in a decode, and some
// engines take more power than others. From kLongFlops on, those that are near the fastest at first
// are therefore run for a longer time.
constexpr double kLongFlops = 1e12;
constexpr double kLongWindow = 200;  // milliseconds
constexpr double kNear = 1.15;
// bf16 results that are right differ by their rounding, 2^-9 of each at most.
constexpr double kMostRelativeError = 5e-3;

// "1024->1024 3x3x3 residual on 44x78": all but the number of frames.
std::string family(const Conv3dProblem& p, bool bare) {
  return join(p.in_channels, "->", p.out_channels, " ", p.kernel.time, "x", p.kernel.height, "x",
              p.kernel.width, p.shift.rows > 0 ? " down" : "", p.shift.columns > 0 ? " right" : "",
              p.accumulate ? " residual" : "", bare ? " bare" : "", " on ", p.height, "x", p.width);
}

std::string text(const Conv3dProblem& p, bool bare) {
  return join(family(p, bare), " frames ", p.frames);
}

// "conv3d-NVIDIA-H200-cudnn-9.19.0.txt"
std::string file_name(std::string gpu) {
  std::replace_if(gpu.begin(), gpu.end(), [](char c) { return c == ' ' || c == '/'; }, '-');
  return join("conv3d-", gpu, "-cudnn-", version(), ".txt");
}

EngineTable& current_table() {
  static std::mutex mutex;
  static auto& tables = *new std::map<int, EngineTable>;  // lives as long as cuDNN's handles do
  int index = 0;
  device::check(cudaGetDevice(&index));
  const std::lock_guard lock(mutex);
  const auto known = tables.find(index);
  if (known != tables.end()) return known->second;
  return tables.try_emplace(index, device::require_gpu(index), cache_folder()).first->second;
}

bool right(const Trial& trial, const Conv3dProblem& problem, bool bare, const Engine& engine) {
  const double error = trial.error(engine);
  if (error <= kMostRelativeError) return true;
  log(LogLevel::kWarning, "cuDNN ", version(), " computes ", text(problem, bare), " wrongly by ",
      engine.plan.engine_name(), engine.loaded ? " as it was kept on disk" : "",
      " (relative error ", error, "): the engine is not used");
  return false;
}

constexpr std::string_view kFused = "fused ", kBare = "bare ";

// The engine of that name, compiled; none where cuDNN does not propose it for this problem.
Engines build_named(const Conv3dProblem& problem, const std::string& choice) {
  const bool fused = choice.starts_with(kFused);
  Convolution convolution(problem, fused);
  for (int i = 0; i < convolution.engines(); ++i) {
    if (choice != join(fused ? kFused : kBare, convolution.engine_name(i))) continue;
    if (auto plan = convolution.build(i, kWorkspaceLimit)) {
      return {std::make_shared<Engine>(Engine{*plan, fused})};
    }
    break;
  }
  return {};
}

// The same as a process compiled it before, where the disk has it.
Engines load_named(const EngineTable& table, const std::string& key, const Conv3dProblem& problem,
                   const std::string& choice) {
  const bool fused = choice.starts_with(kFused);
  const auto saved = table.compiled.load(table.compiled_key(key, choice));
  if (!saved) return {};
  auto plan = Plan::load(problem, fused, choice.substr((fused ? kFused : kBare).size()), *saved,
                         kWorkspaceLimit);
  if (!plan) return {};
  return {std::make_shared<Engine>(Engine{*plan, fused, true})};
}

double flops(const Conv3dProblem& p) {
  return 2.0 * static_cast<double>(p.frames * p.height * p.width) *
         static_cast<double>(p.in_channels * p.out_channels) *
         static_cast<double>(p.kernel.time * p.kernel.height * p.kernel.width);
}

// Those that are worth timing.
Engines build_all(const Conv3dProblem& problem, bool bare) {
  const int most = flops(problem) < kLeastFlops ? 1 : kMostTimed;
  Engines engines;
  for (const bool fused : {true, false}) {
    // A residual is added by an engine, and what is left to the caller by none.
    if (fused ? bare : problem.accumulate) continue;
    Convolution convolution(problem, fused);
    int built = 0;
    for (int i = 0; i < convolution.engines() && built < most; ++i) {
      if (auto plan = convolution.build(i, kWorkspaceLimit)) {
        engines.push_back(std::make_shared<Engine>(Engine{*plan, fused}));
        ++built;
      }
    }
  }
  return engines;
}

// Fastest first; those that fail left out.
Engines sorted_by_time(const Engines& engines, const Conv3dProblem& problem, bool bare,
                       const Trial& trial) {
  using Timed = std::pair<double, std::shared_ptr<Engine>>;
  std::vector<Timed> timed;
  const auto sort = [](auto begin, auto end) {
    std::stable_sort(begin, end, [](const Timed& a, const Timed& b) { return a.first < b.first; });
  };
  const auto time = [&](Timed& engine, double window) {
    engine.first = trial.milliseconds(*engine.second, window);
    log(LogLevel::kDebug, "cuDNN: ", text(problem, bare), ": ", engine.first,
        window > 0 ? " ms kept up by " : " ms by ", engine.second->choice());
  };
  for (const auto& engine : engines) {
    try {
      timed.emplace_back(0, engine);
      time(timed.back(), 0);
    } catch (const Error& error) {
      timed.pop_back();
      log(LogLevel::kDebug, "cuDNN: ", text(problem, bare), " fails by ", engine->choice(), ": ",
          error.what());
    }
  }
  sort(timed.begin(), timed.end());
  if (flops(problem) >= kLongFlops && !timed.empty()) {
    const auto far = std::find_if(timed.begin(), timed.end(), [&](const Timed& engine) {
      return engine.first > kNear * timed.front().first;
    });
    for (auto engine = timed.begin(); engine != far; ++engine) time(*engine, kLongWindow);
    sort(timed.begin(), far);
  }
  Engines sorted;
  for (auto& [milliseconds, engine] : timed) sorted.push_back(std::move(engine));
  return sorted;
}

bool about_as_many(std::int64_t frames, std::int64_t others) {
  return others <= 2 * frames && frames <= 2 * others;
}

// A choice of the same family for between half and twice as many frames.
std::string sibling(const EngineTable& table, const Conv3dProblem& problem, bool bare) {
  const auto known = table.chosen.find(family(problem, bare));
  if (known == table.chosen.end()) return {};
  for (const auto& [frames, choice] : known->second) {
    if (about_as_many(problem.frames, frames)) return choice;
  }
  return {};
}

}  // namespace

EngineTable::EngineTable(const device::Gpu& gpu, const std::filesystem::path& cache)
    : platform(
          join(gpu.name, " with ", gpu.multiprocessors, " multiprocessors, cuDNN ", version())),
      remembered(cache.empty() ? cache : cache / file_name(gpu.name)),
      compiled(cache.empty() ? cache : cache / "engines") {}

std::string Engine::choice() const {
  return join(fused ? kFused : kBare, plan.engine_name());
}

EngineChoice::EngineChoice(const Conv3dProblem& problem, bool bare)
    : problem_(problem), bare_(bare), key_(text(problem, bare)) {}

// One that ends without a result leaves the choice to others.
EngineChoice::~EngineChoice() {
  if (table_ == nullptr) return;
  const std::lock_guard lock(table_->mutex);
  stop_choosing();
}

void EngineChoice::stop_choosing() {
  if (!chooses_) return;
  std::multiset<std::int64_t>& frames = table_->choosing[family(problem_, bare_)];
  frames.erase(frames.find(problem_.frames));
  chooses_ = false;
}

bool EngineChoice::begin() {
  EngineTable& table = current_table();
  table_ = &table;
  const std::lock_guard lock(table.mutex);
  if (built_.valid() || table.ready.contains(key_)) return true;
  known_ = table.remembered.find(key_).value_or(sibling(table, problem_, bare_));
  if (known_.empty()) {
    std::multiset<std::int64_t>& choosing = table.choosing[family(problem_, bare_)];
    if (std::any_of(choosing.begin(), choosing.end(),
                    [&](std::int64_t frames) { return about_as_many(problem_.frames, frames); })) {
      return false;
    }
    choosing.insert(problem_.frames);
    chooses_ = true;
  }
  int device = 0;
  device::check(cudaGetDevice(&device));
  built_ = std::async(std::launch::async, [this, device] {
    device::check(cudaSetDevice(device));
    if (known_.empty()) return build_all(problem_, bare_);
    Engines engines = load_named(*table_, key_, problem_, known_);
    return engines.empty() ? build_named(problem_, known_) : engines;
  });
  return true;
}

void EngineChoice::wait() const {
  if (built_.valid()) built_.wait();
}

std::shared_ptr<const Engine> EngineChoice::finish(const CudaWeights& weights,
                                                   const Scratch& scratch) {
  EngineTable& table = current_table();
  const std::lock_guard lock(table.mutex);
  Engines engines = built_.valid() ? built_.get() : Engines{};
  stop_choosing();
  std::shared_ptr<const Engine>& ready = table.ready[key_];
  if (ready) return ready;

  const auto adopt = [&](const std::shared_ptr<Engine>& engine) {
    const std::string saved = engine->loaded ? "" : engine->plan.save();
    if (!saved.empty()) table.compiled.save(table.compiled_key(key_, engine->choice()), saved);
    table.chosen[family(problem_, bare_)].emplace(problem_.frames, engine->choice());
    return ready = engine;
  };
  // A remembered engine was compared when it was chosen. What cuDNN compiles again is the same, but
  // what came from disk is only as good as the disk and whoever writes to it.
  if (!engines.empty() && !engines.front()->loaded &&
      engines.front()->choice() == table.remembered.find(key_)) {
    return adopt(engines.front());
  }
  const Trial trial(problem_, weights, scratch);
  const auto accept = [&](const std::shared_ptr<Engine>& engine) {
    if (!right(trial, problem_, bare_, *engine)) return false;
    table.remembered.store(key_, engine->choice());
    adopt(engine);
    return true;
  };
  if (!engines.empty() && engines.front()->loaded) {
    try {
      if (accept(engines.front())) return ready;
    } catch (const Error& error) {
      log(LogLevel::kDebug, "cuDNN: ", key_, " fails by ", known_, " from disk: ", error.what());
    }
    engines = build_named(problem_, known_);
  }
  if (!known_.empty()) {
    if (!engines.empty() && accept(engines.front())) return ready;
    engines.clear();
  }
  if (engines.empty()) engines = build_all(problem_, bare_);
  for (const auto& engine : sorted_by_time(engines, problem_, bare_, trial)) {
    if (accept(engine)) return ready;
  }
  fail(ErrorKind::kUnsupported, "cuDNN ", version(), " has no engine that computes ", key_,
       "; use another version of cuDNN or --precision f32");
}

}  // namespace pantograph::ops::cudnn
