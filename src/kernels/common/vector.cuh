// A few consecutive elements in registers: moved by one 16-byte access, or one by one where
// alignment forbids it, and computed with as f32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <type_traits>

namespace pantograph::kernels {

template <typename T>
inline constexpr int kVectorWidth = 16 / static_cast<int>(sizeof(T));

template <int V>
struct Floats {
  float at[V];
};

template <typename T, int V>
struct Pack {
  T at[V];
};

namespace detail {

// True where a pack is one 16-byte word.
template <typename T, int V>
inline constexpr bool kIsVector = V == kVectorWidth<T>;

template <typename T, int V, typename LoadWord, typename LoadElement>
__device__ Pack<T, V> load(const T* source, LoadWord load_word, LoadElement load_element) {
  Pack<T, V> pack;
  if constexpr (kIsVector<T, V>) {
    const uint4 word = load_word(reinterpret_cast<const uint4*>(source));
    std::memcpy(&pack, &word, sizeof word);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) pack.at[i] = load_element(source + i);
  }
  return pack;
}

}  // namespace detail

// What many blocks read: parameters and tables.
template <int V, typename T>
__device__ Pack<T, V> load(const T* source) {
  return detail::load<T, V>(
      source, [](const uint4* p) { return __ldg(p); }, [](const T* p) { return __ldg(p); });
}

// What is read once: it takes no room in L1.
template <int V, typename T>
__device__ Pack<T, V> load_once(const T* source) {
  const auto load_word = [](const uint4* p) {
    uint4 word;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
        : "l"(p));
    return word;
  };
  return detail::load<T, V>(source, load_word, [](const T* p) { return __ldcs(p); });
}

// What somebody reads next.
template <typename T, int V>
__device__ void store(T* target, const Pack<T, V>& pack) {
  if constexpr (detail::kIsVector<T, V>) {
    uint4 word;
    std::memcpy(&word, &pack, sizeof word);
    *reinterpret_cast<uint4*>(target) = word;
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) target[i] = pack.at[i];
  }
}

template <typename T, int V>
__device__ void store_once(T* target, const Pack<T, V>& pack) {
  if constexpr (detail::kIsVector<T, V>) {
    uint4 word;
    std::memcpy(&word, &pack, sizeof word);
    __stcs(reinterpret_cast<uint4*>(target), word);
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) __stcs(target + i, pack.at[i]);
  }
}

__device__ inline float to_float(float value) {
  return value;
}
__device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ inline float to_float(__half value) {
  return __half2float(value);
}

template <typename T, int V>
__device__ Floats<V> to_floats(const Pack<T, V>& pack) {
  Floats<V> values;
#pragma unroll
  for (int i = 0; i < V; ++i) values.at[i] = to_float(pack.at[i]);
  return values;
}

__device__ inline void round_to(float value, float& target) {
  target = value;
}
__device__ inline void round_to(float value, __nv_bfloat16& target) {
  target = __float2bfloat16_rn(value);
}
__device__ inline void round_to(float value, __half& target) {
  target = __float2half_rn(value);
}

// Rounds to nearest even; two at a time, which is one instruction for the 16-bit types.
template <typename T, int V>
__device__ Pack<T, V> round_to(const Floats<V>& values) {
  Pack<T, V> pack;
  if constexpr (V % 2 == 0 && sizeof(T) == 2) {
#pragma unroll
    for (int i = 0; i < V; i += 2) {
      if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(values.at[i], values.at[i + 1]);
        pack.at[i] = pair.x, pack.at[i + 1] = pair.y;
      } else {
        const __half2 pair = __floats2half2_rn(values.at[i], values.at[i + 1]);
        pack.at[i] = pair.x, pack.at[i + 1] = pair.y;
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) round_to(values.at[i], pack.at[i]);
  }
  return pack;
}

// Keeps the compiler from holding the elements as f32 from an earlier use to a later one, which
// takes twice the registers; converting again costs less.
template <typename T, int V>
__device__ void forget_floats(Pack<T, V>& pack) {
  if constexpr (sizeof(T) == 2 && V == kVectorWidth<T>) {
    uint4 word;
    std::memcpy(&word, &pack, sizeof word);
    asm volatile("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
    std::memcpy(&pack, &word, sizeof word);
  }
}

// The products of two packs, each rounded once.
template <typename T, int V>
__device__ Pack<T, V> multiply(const Pack<T, V>& a, const Pack<T, V>& b) {
  Pack<T, V> product;
  if constexpr (V % 2 == 0 && sizeof(T) == 2) {
    using Pair = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
#pragma unroll
    for (int i = 0; i < V; i += 2) {
      const Pair pair = __hmul2(Pair(a.at[i], a.at[i + 1]), Pair(b.at[i], b.at[i + 1]));
      product.at[i] = pair.x, product.at[i + 1] = pair.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      round_to(to_float(a.at[i]) * to_float(b.at[i]), product.at[i]);
    }
  }
  return product;
}

// To T and back.
template <typename T, int V>
__device__ Floats<V> rounded(const Floats<V>& values) {
  return to_floats(round_to<T>(values));
}

}  // namespace pantograph::kernels
