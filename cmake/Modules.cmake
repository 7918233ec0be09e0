# tinkc_module(name USES modules... LIBS libraries...)
# All of src/<name>/*.c as one object library `tk_<name>`, and a static test-side library
# `tkm_<name>` that carries the module with everything below it.
function(tinkc_module name)
    cmake_parse_arguments(M "" "" "USES;LIBS" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
    add_library(tk_${name} OBJECT ${sources})
    tinkc_strict(tk_${name})
    target_include_directories(tk_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src
                               ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(tk_${name} PUBLIC ${M_LIBS})
    add_library(tkm_${name} STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tk_${name}>)
    target_include_directories(tkm_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src
                               ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(tkm_${name} PUBLIC ${M_LIBS} m)
    foreach(below ${M_USES})
        target_link_libraries(tk_${name} PUBLIC tk_${below})
        target_link_libraries(tkm_${name} PUBLIC tkm_${below})
    endforeach()
endfunction()
