# tinkc_module(name USES modules... PKGS pkg-config-names... LIBS targets...)
#
# All of src/<name>/**.c as one object library `tk_<name>`, and a static test-side library
# `tkm_<name>` that carries the module with everything below it. A folder that does not
# exist (yet), or that an option switched off, is skipped: USES names such a module without
# harm. The source sees TINKC_HAVE_<USED>=0|1 for every module it names.
#
# A source file that makes no sense without an option names it in its opening comment, on a
# separate line:
#
#     * Needs: text
#
# ("Needs: text server": both of them.) With TINKC_TEXT=OFF it is left out, and `x_off.c` beside it, if there is one, is compiled
# instead of `x.c`. So the sources need no #if for options.
#
# The flags that a consumer of the static archive needs are kept in the global property
# TINKC_PRIVATE_LIBS_<name>.
function(tinkc_choose_sources out)
    set(chosen)
    foreach(source ${ARGN})
        string(REGEX REPLACE "_off\\.c$" ".c" twin ${source})
        file(STRINGS ${twin} needs LIMIT_INPUT 4096 REGEX "^[ /]\\*+ Needs: ")
        string(REGEX REPLACE "^.*Needs: ([a-z ]*).*" "\\1" needs "${needs}")
        string(TOUPPER "${needs}" needs)
        separate_arguments(needs)
        set(is_missing FALSE)
        set(is_stand_in FALSE)
        foreach(need ${needs})
            if(NOT DEFINED TINKC_${need})
                message(FATAL_ERROR "${twin} needs ${need}, which is not an option")
            elseif(NOT TINKC_${need})
                set(is_missing TRUE)
            endif()
        endforeach()
        if(NOT twin STREQUAL source)
            set(is_stand_in TRUE)
        endif()
        if(is_missing STREQUAL is_stand_in)
            list(APPEND chosen ${source})
        endif()
    endforeach()
    set(${out} ${chosen} PARENT_SCOPE)
endfunction()

function(tinkc_module name)
    cmake_parse_arguments(M "" "" "USES;PKGS;LIBS" ${ARGN})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
    if(NOT sources)
        return()
    endif()
    tinkc_choose_sources(sources ${sources})
    set(flags)
    foreach(package ${M_PKGS})
        string(MAKE_C_IDENTIFIER ${package} id)
        pkg_check_modules(PKG_${id} REQUIRED IMPORTED_TARGET GLOBAL ${package})
        list(APPEND M_LIBS PkgConfig::PKG_${id})
        foreach(library ${PKG_${id}_LIBRARIES})
            list(APPEND flags -l${library})
        endforeach()
    endforeach()
    set_property(GLOBAL PROPERTY TINKC_PRIVATE_LIBS_${name} "${flags}")
    set_property(GLOBAL PROPERTY TINKC_TARGETS_${name} "${M_LIBS}")

    add_library(tk_${name} OBJECT ${sources})
    tinkc_strict(tk_${name})
    add_library(tkm_${name} STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tk_${name}>)
    target_link_libraries(tkm_${name} PUBLIC m)
    foreach(target tk_${name} tkm_${name})
        target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src
                                   ${CMAKE_SOURCE_DIR}/include)
        target_link_libraries(${target} PUBLIC ${M_LIBS})
    endforeach()
    foreach(below ${M_USES})
        string(TOUPPER ${below} upper)
        set(have 0)
        if(TARGET tk_${below})
            set(have 1)
            target_link_libraries(tk_${name} PUBLIC tk_${below})
            target_link_libraries(tkm_${name} PUBLIC tkm_${below})
        endif()
        target_compile_definitions(tk_${name} PRIVATE TINKC_HAVE_${upper}=${have})
    endforeach()
endfunction()
