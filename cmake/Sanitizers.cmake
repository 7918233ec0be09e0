# -DTINKC_SANITIZE=address,undefined | thread. A finding ends the test: no recovery.
if(TINKC_SANITIZE)
    add_compile_options(-fsanitize=${TINKC_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer -g)
    add_link_options(-fsanitize=${TINKC_SANITIZE})
    add_compile_definitions(TINKC_SANITIZED=1)
endif()
if(TINKC_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
