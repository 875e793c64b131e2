#include "device/cublas_lt.h"

#include <cublasLt.h>

#include <map>
#include <mutex>

#include "device/check.h"
#include "device/library.h"

namespace pantograph::device {
namespace {

// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses): the library's own names
#define PANTOGRAPH_CUBLASLT(name)    \
  decltype(&::cublasLt##name) name = \
      function<decltype(::cublasLt##name)>(GpuLibrary::kCublasLt, "cublasLt" #name)

// The library's functions, bound once.
struct Functions {
  PANTOGRAPH_CUBLASLT(Create);
  PANTOGRAPH_CUBLASLT(MatmulDescCreate);
  PANTOGRAPH_CUBLASLT(MatmulDescDestroy);
  PANTOGRAPH_CUBLASLT(MatmulDescSetAttribute);
  PANTOGRAPH_CUBLASLT(MatrixLayoutCreate);
  PANTOGRAPH_CUBLASLT(MatrixLayoutDestroy);
  PANTOGRAPH_CUBLASLT(MatmulPreferenceCreate);
  PANTOGRAPH_CUBLASLT(MatmulPreferenceDestroy);
  PANTOGRAPH_CUBLASLT(MatmulPreferenceSetAttribute);
  PANTOGRAPH_CUBLASLT(MatmulAlgoGetHeuristic);
  PANTOGRAPH_CUBLASLT(Matmul);
};
#undef PANTOGRAPH_CUBLASLT
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)

const Functions& functions() {
  static const Functions instance;
  return instance;
}

void check(cublasStatus_t status, const MatrixProduct& p) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail(ErrorKind::kInternal, "cuBLASLt: error ", static_cast<int>(status), " for a product of ",
       p.rows, " x ", p.depth, " by ", p.depth, " x ", p.columns, " (", to_string(p.operands), ")");
}

// One for each device, as long as the process lives.
cublasLtHandle_t handle(const MatrixProduct& product) {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t>& handles = *new std::map<int, cublasLtHandle_t>;
  int index = 0;
  device::check(cudaGetDevice(&index));
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& entry = handles[index];
  if (entry == nullptr) check(functions().Create(&entry), product);
  return entry;
}

cudaDataType_t native(DType dtype) {
  return dtype == DType::kBF16 ? CUDA_R_16BF : CUDA_R_32F;
}

// Owns one of the library's descriptions.
template <typename Native>
struct Described {
  explicit Described(cublasStatus_t (*destroy)(Native)) : destroy_(destroy) {}
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  ~Described() {
    if (value != nullptr) destroy_(value);
  }
  Native value = nullptr;

 private:
  cublasStatus_t (*destroy_)(Native);
};

using Layout = Described<cublasLtMatrixLayout_t>;

}  // namespace

void multiply(const MatrixProduct& p, void* workspace, void* stream) {
  const Functions& lt = functions();
  cublasLtHandle_t library = handle(p);
  Described<cublasLtMatmulDesc_t> operation(lt.MatmulDescDestroy);
  check(lt.MatmulDescCreate(&operation.value, CUBLAS_COMPUTE_32F, CUDA_R_32F), p);
  // The library is column-major: it computes C^T = B^T A^T, so B comes first.
  const cublasOperation_t transposed = p.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  check(lt.MatmulDescSetAttribute(operation.value, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                  sizeof transposed),
        p);
  const auto layout = [&](Layout& target, DType dtype, std::int64_t columns, std::int64_t rows,
                          std::int64_t stride) {
    check(lt.MatrixLayoutCreate(&target.value, native(dtype), static_cast<std::uint64_t>(columns),
                                static_cast<std::uint64_t>(rows), stride),
          p);
  };
  Layout b(lt.MatrixLayoutDestroy), a(lt.MatrixLayoutDestroy), c(lt.MatrixLayoutDestroy);
  if (p.b_transposed) {
    layout(b, p.operands, p.depth, p.columns, p.b_stride);
  } else {
    layout(b, p.operands, p.columns, p.depth, p.b_stride);
  }
  layout(a, p.operands, p.depth, p.rows, p.a_stride);
  layout(c, p.result, p.columns, p.rows, p.c_stride);

  Described<cublasLtMatmulPreference_t> preference(lt.MatmulPreferenceDestroy);
  check(lt.MatmulPreferenceCreate(&preference.value), p);
  check(lt.MatmulPreferenceSetAttribute(preference.value, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                        &kCublasWorkspace, sizeof kCublasWorkspace),
        p);
  cublasLtMatmulHeuristicResult_t algorithm{};
  int found = 0;
  check(lt.MatmulAlgoGetHeuristic(library, operation.value, b.value, a.value, c.value, c.value,
                                  preference.value, 1, &algorithm, &found),
        p);
  const float beta = 0;
  check(found == 1 ? lt.Matmul(library, operation.value, &p.alpha, p.b, b.value, p.a, a.value,
                               &beta, p.c, c.value, p.c, c.value, &algorithm.algo, workspace,
                               kCublasWorkspace, static_cast<cudaStream_t>(stream))
                   : CUBLAS_STATUS_NOT_SUPPORTED,
        p);
}

}  // namespace pantograph::device
