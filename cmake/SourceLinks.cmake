# What a test, fuzz target or benchmark links beside its own module is named in its opening
# comment, on a separate line:
#
#     * Links: wire jansson
#
# Each word is a module of ours (src/<word>), tools/pretrain (pretrain, pretrain_double) or a
# pkg-config package.
#
# tinkc_source_links(out source): the libraries of that line. When a module is switched
# off or not there (yet), the list is OFF and the caller leaves the program out.
function(tinkc_source_links out source)
    file(STRINGS ${source} lines REGEX "^[ /]\\*+ Links: ")
    string(REGEX REPLACE "^.*Links: " "" words "${lines}")
    string(REGEX REPLACE "[ */]+" ";" words "${words}")
    set(libs)
    foreach(word ${words})
        if(TARGET tkm_${word})
            list(APPEND libs tkm_${word})
        elseif(word MATCHES "^(base|wire|http|text|client|engine|httpd|chatapi|gateway|console|server|cli|pretrain.*)$")
            set(${out} OFF PARENT_SCOPE)
            return()
        else()
            string(MAKE_C_IDENTIFIER ${word} id)
            pkg_check_modules(PKG_${id} REQUIRED IMPORTED_TARGET GLOBAL ${word})
            list(APPEND libs PkgConfig::PKG_${id})
        endif()
    endforeach()
    set(${out} ${libs} PARENT_SCOPE)
endfunction()
