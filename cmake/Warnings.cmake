# One warning set for every target; errors with gcc and with clang, unless TINKC_WERROR is off:
# a compiler that is newer than ours may find more.
set(TINKC_WARNINGS
    -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
    -Wvla -Wformat=2 -Wpointer-arith -Wcast-qual -Wundef -Wswitch-enum)
if(TINKC_WERROR)
    list(APPEND TINKC_WARNINGS -Werror)
endif()

function(tinkc_strict target)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:${TINKC_WARNINGS}>)
    set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON
                          C_EXTENSIONS OFF)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
endfunction()

# C++ programs over include/tinkc/tinkc.hpp: examples and tests.
set(TINKC_CXX_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)

function(tinkc_strict_cxx target standard)
    target_compile_options(${target} PRIVATE ${TINKC_CXX_WARNINGS})
    set_target_properties(${target} PROPERTIES CXX_STANDARD ${standard}
                          CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
endfunction()
