# The `tinkc` program: src/cli over the public API, with base/ for output and, where the
# server is built, server/ for `tinkc serve`. It links libtinkc.a, so that the program runs
# from the build tree and from anywhere else without a library path.
if(TARGET tk_cli)
    add_executable(tinkc_program $<TARGET_OBJECTS:tk_cli>)
    set_target_properties(tinkc_program PROPERTIES OUTPUT_NAME tinkc LINKER_LANGUAGE C)
    target_link_libraries(tinkc_program PRIVATE tinkc_static)
    if(TARGET tkm_server)
        target_link_libraries(tinkc_program PRIVATE tkm_server)
    endif()
    target_link_libraries(tinkc_program PRIVATE tkm_base)
    install(TARGETS tinkc_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
