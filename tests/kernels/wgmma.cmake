# Where ptxas cannot keep a product's operands as they are it waits for each product (C75xx), several
# times slower; it calls that information, which no option makes an error. So the file is compiled
# once more, for what is said of it.
if(HOST_COMPILER)
  set(host -ccbin ${HOST_COMPILER})
endif()
execute_process(
  COMMAND ${NVCC} ${host} -cubin -arch=sm_90a -std=c++20 -O3 -DNDEBUG --expt-relaxed-constexpr
    -I${ROOT}/include -I${ROOT}/src ${ROOT}/src/kernels/hopper/component_gemm.cu -o ${OUTPUT}
  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "component_gemm.cu does not compile: ${said}")
endif()
if(said MATCHES "C75[0-9][0-9]")
  message(FATAL_ERROR "ptxas serialises wgmma: ${said}")
endif()

if(NOT CUOBJDUMP)  # a toolkit may come without
  message(STATUS "no cuobjdump: the instructions themselves are not looked at")
  return()
endif()
execute_process(COMMAND ${CUOBJDUMP} -sass ${OUTPUT}
  OUTPUT_VARIABLE instructions RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT instructions MATCHES "HGMMA\\.")
  message(FATAL_ERROR "no HGMMA among the instructions of component_gemm.cu")
endif()
