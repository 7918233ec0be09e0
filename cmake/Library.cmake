# libtinkc: shared and static, from the same objects, both showing nothing but tinkc_*.
#
# The archive holds one object: all of ours linked with `ld -r`, then every hidden symbol
# made local. Without that, each internal tk_ function would be a global of whatever
# program links libtinkc.a, and could collide with it (docs/decisions.md). Sanitizer builds
# keep the plain objects: their archive is never installed.
set(TINKC_LIB_MODULES)
set(TINKC_PRIVATE_LIBS)
set(objects)
set(targets)
foreach(module base wire http text client)
    if(TARGET tk_${module})
        list(APPEND TINKC_LIB_MODULES ${module})
        list(APPEND objects $<TARGET_OBJECTS:tk_${module}>)
        get_property(flags GLOBAL PROPERTY TINKC_PRIVATE_LIBS_${module})
        list(APPEND TINKC_PRIVATE_LIBS ${flags})
        get_property(libs GLOBAL PROPERTY TINKC_TARGETS_${module})
        list(APPEND targets ${libs})
    endif()
endforeach()
list(APPEND TINKC_PRIVATE_LIBS -lpthread -lm)
list(REMOVE_DUPLICATES TINKC_PRIVATE_LIBS)
list(REMOVE_DUPLICATES targets)

add_library(tinkc SHARED ${objects})
set_target_properties(tinkc PROPERTIES SOVERSION 0 VERSION ${PROJECT_VERSION}
                      LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/tinkc.map)
target_link_options(tinkc PRIVATE
    LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/tinkc.map LINKER:--as-needed)
if(NOT TINKC_SANITIZE)
    target_link_options(tinkc PRIVATE LINKER:--no-undefined)
endif()

if(TINKC_SANITIZE OR NOT CMAKE_OBJCOPY)
    add_library(tinkc_static STATIC ${objects})
else()
    set(whole ${CMAKE_BINARY_DIR}/tinkc_whole.o)
    add_custom_command(OUTPUT ${whole}
        COMMAND ${CMAKE_LINKER} -r -o ${whole} ${objects}
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${whole}
        DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM
        COMMENT "Joining the objects of libtinkc.a")
    add_library(tinkc_static STATIC ${whole})
    set_source_files_properties(${whole} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endif()
set_target_properties(tinkc_static PROPERTIES OUTPUT_NAME tinkc)

foreach(lib tinkc tinkc_static)
    set_target_properties(${lib} PROPERTIES LINKER_LANGUAGE C)
    target_include_directories(${lib} PUBLIC
        $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
    target_link_libraries(${lib} PRIVATE ${targets} Threads::Threads m)
endforeach()

include(cmake/Install.cmake)
