// Boxes of a tensor, copied by the tensor memory accelerator. What lies outside of the tensor reads
// as zero and is not written.
#pragma once

#include <cuda.h>

#include "kernels/hopper/barrier.cuh"

namespace pantograph::kernels {

// Coordinates of a box in elements, innermost first.
struct BoxAt {
  std::int32_t x, y, z;
};
struct PixelsAt {
  std::int32_t channel, column, row, frame;
};

__device__ inline void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// How long the L2 cache should hold what is copied, compared with the rest.
struct CachePolicy {
  std::uint64_t bits;
};
__device__ inline CachePolicy keep_longest() {
  CachePolicy policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(policy.bits));
  return policy;
}
__device__ inline CachePolicy keep_least() {
  CachePolicy policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy.bits));
  return policy;
}

// To this block's shared memory; the bytes arrive at `barrier`.
__device__ inline void load_box(const CUtensorMap& map, BoxAt at, void* target,
                                std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(target)),
      "l"(&map), "r"(shared_address(barrier)), "r"(at.x), "r"(at.y), "r"(at.z)
      : "memory");
}
__device__ inline void load_box(const CUtensorMap& map, PixelsAt at, void* target,
                                std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(shared_address(target)),
      "l"(&map), "r"(shared_address(barrier)), "r"(at.channel), "r"(at.column), "r"(at.row),
      "r"(at.frame)
      : "memory");
}

__device__ inline void load_box(const CUtensorMap& map, PixelsAt at, void* target,
                                std::uint64_t* barrier, CachePolicy policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(shared_address(target)),
      "l"(&map), "r"(shared_address(barrier)), "r"(at.channel), "r"(at.column), "r"(at.row),
      "r"(at.frame), "l"(policy.bits)
      : "memory");
}

// To the same address in each block of the cluster whose bit is set, and to its barrier.
__device__ inline void load_box_to_all(const CUtensorMap& map, BoxAt at, void* target,
                                       std::uint64_t* barrier, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared_address(target)),
      "l"(&map), "r"(shared_address(barrier)), "r"(at.x), "r"(at.y), "r"(at.z), "h"(blocks)
      : "memory");
}

// Starts a store, as a group of its own; what `source` holds must have been fenced.
__device__ inline void store_box(const CUtensorMap& map, BoxAt at, const void* source) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];\n"
      "cp.async.bulk.commit_group;" ::"l"(&map),
      "r"(shared_address(source)), "r"(at.x), "r"(at.y), "r"(at.z)
      : "memory");
}
__device__ inline void store_box(const CUtensorMap& map, PixelsAt at, const void* source) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];\n"
      "cp.async.bulk.commit_group;" ::"l"(&map),
      "r"(shared_address(source)), "r"(at.channel), "r"(at.column), "r"(at.row), "r"(at.frame)
      : "memory");
}
__device__ inline void store_box(const CUtensorMap& map, BoxAt at, const void* source,
                                 CachePolicy policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%2, %3, %4}],"
      " [%1], %5;\n"
      "cp.async.bulk.commit_group;" ::"l"(&map),
      "r"(shared_address(source)), "r"(at.x), "r"(at.y), "r"(at.z), "l"(policy.bits)
      : "memory");
}
// Until all but the last `kPending` of this thread's stores have read their source.
template <int kPending>
__device__ void wait_for_stores_to_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
__device__ inline void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
// Between ordinary accesses to shared memory and copies that follow.
__device__ inline void fence_for_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace pantograph::kernels
