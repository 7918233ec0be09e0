# How engine sources are compiled, wherever they are compiled (the tests build them once
# more in double precision). No fast-math and no contraction: the order and rounding of
# every addition is the engine's promise. Kernels are optimised in every build type, and
# only their own file may use the instructions of their name.
function(tinkc_engine_flags target)
    target_compile_options(${target} PRIVATE -ffp-contract=off -fno-math-errno
                           -fno-trapping-math)
    set(dir ${CMAKE_SOURCE_DIR}/src/engine)
    foreach(hot kern_generic kern_fma kern_avx2 kern_avx512 kern_neon mat rows rope optim dtype)
        set_property(SOURCE ${dir}/eng_${hot}.c APPEND PROPERTY COMPILE_OPTIONS -O3)
    endforeach()
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        set_property(SOURCE ${dir}/eng_kern_avx2.c APPEND PROPERTY COMPILE_OPTIONS
                     -mavx2 -mfma)
        set_property(SOURCE ${dir}/eng_kern_avx512.c APPEND PROPERTY COMPILE_OPTIONS
                     -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl
                     -mprefer-vector-width=512)
    endif()
endfunction()
