# libtinkc: shared and static, from the same objects; install rules and packages follow in
# Install.cmake.
set(TINKC_LIB_MODULES base wire client)
add_library(tinkc SHARED)
add_library(tinkc_static STATIC)
foreach(module ${TINKC_LIB_MODULES})
    foreach(lib tinkc tinkc_static)
        target_sources(${lib} PRIVATE $<TARGET_OBJECTS:tk_${module}>)
    endforeach()
endforeach()
foreach(lib tinkc tinkc_static)
    set_target_properties(${lib} PROPERTIES LINKER_LANGUAGE C)
    target_include_directories(${lib} PUBLIC
        $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    target_link_libraries(${lib} PRIVATE PkgConfig::CRYPTO PkgConfig::ZSTD
                          Threads::Threads m)
endforeach()
set_target_properties(tinkc PROPERTIES SOVERSION 0 VERSION ${PROJECT_VERSION})
set_target_properties(tinkc_static PROPERTIES OUTPUT_NAME tinkc)
