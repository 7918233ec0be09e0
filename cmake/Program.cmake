# The `tinkc` program: src/cli over the public API, with base/ for output and, where the
# server is built, server/ for `tinkc serve`. It links the modules of libtinkc, not
# libtinkc.a: base/ would be in the program twice, with its exported functions. That it uses
# nothing but public headers is the business of scripts/check-layers.py.
if(TARGET tk_cli)
    add_executable(tinkc_program $<TARGET_OBJECTS:tk_cli>)
    set_target_properties(tinkc_program PROPERTIES OUTPUT_NAME tinkc LINKER_LANGUAGE C)
    target_link_libraries(tinkc_program PRIVATE tkm_client)
    if(TARGET tkm_server)
        target_link_libraries(tinkc_program PRIVATE tkm_server)
    endif()
    target_link_libraries(tinkc_program PRIVATE tkm_base)
    install(TARGETS tinkc_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
