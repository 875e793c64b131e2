// How the threads of a block share the heads of one token: a group of kLanes neighbouring lanes
// takes a head, each lane kPacks packs of it.
#pragma once

#include "kernels/token_ops/dispatch.cuh"

namespace pantograph::kernels {

template <int kWidth, int kLaneCount, int kPackCount>
struct HeadLayout {
  static constexpr int V = kWidth;
  static constexpr int kLanes = kLaneCount;
  static constexpr int kPacks = kPackCount;
  static __device__ int column(int pack) {
    return static_cast<int>((pack * kLanes + threadIdx.x % kLanes) * V);
  }
  static __device__ int group() { return static_cast<int>(threadIdx.x / kLanes); }
  static __device__ int groups() { return static_cast<int>(blockDim.x / kLanes); }
};

inline constexpr int kMaxHeadDim = 512;

// Calls launch.operator()<T, Layout>() with the smallest layout that covers head_dim.
template <typename Launch>
cudaError_t with_head_layout(DType dtype, std::int64_t head_dim, bool vectors, Launch launch) {
  return with_element_type(dtype, [&]<typename T>(T) {
    constexpr int kWidth = kVectorWidth<T>;
    const std::int64_t packs = head_dim / kWidth;
    // Pairs, moved element by element.
    if (!vectors) return launch.template operator()<T, HeadLayout<2, 32, kMaxHeadDim / 64>>();
    if (packs <= 8) return launch.template operator()<T, HeadLayout<kWidth, 8, 1>>();
    if (packs <= 16) return launch.template operator()<T, HeadLayout<kWidth, 16, 1>>();
    if (packs <= 32) return launch.template operator()<T, HeadLayout<kWidth, 32, 1>>();
    return launch.template operator()<T, HeadLayout<kWidth, 32, kMaxHeadDim / 32 / kWidth>>();
  });
}

template <typename Layout>
int threads_for_heads(std::int64_t heads, int heads_per_group, int limit) {
  return threads_for(ceil_divide(heads, heads_per_group) * Layout::kLanes, limit);
}

// The cosines or sines of one pack of a token.
template <int V>
__device__ Floats<V / 2> load_angles(const void* table, std::int64_t token, int head_dim,
                                     int column) {
  const float* source = static_cast<const float*>(table) + token * (head_dim / 2) + column / 2;
  Floats<V / 2> values;
  if constexpr (V == 8) {
    const float4 word = __ldg(reinterpret_cast<const float4*>(source));
    values = {word.x, word.y, word.z, word.w};
  } else if constexpr (V == 4) {
    const float2 word = __ldg(reinterpret_cast<const float2*>(source));
    values = {word.x, word.y};
  } else {
    values = {__ldg(source)};
  }
  return values;
}

}  // namespace pantograph::kernels
