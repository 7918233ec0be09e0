"""Uses the installed libtinkc.so.0 through ctypes: prints its version, after calls that take and
return strings, fill a handle and report an error."""
import ctypes

lib = ctypes.CDLL("libtinkc.so.0")
for name in ("tinkc_version", "tinkc_code_name", "tinkc_error_message"):
    getattr(lib, name).restype = ctypes.c_char_p
pointer = ctypes.c_void_p

config, error = pointer(), pointer()
assert lib.tinkc_config_new(ctypes.byref(config), ctypes.byref(error)) == 0
code = lib.tinkc_config_set(config, b"no_such_option", b"1", ctypes.byref(error))
assert lib.tinkc_code_name(code).startswith(b"TINKC_E_"), code
assert b"no_such_option" in lib.tinkc_error_message(error)
lib.tinkc_error_free(ctypes.byref(error))
lib.tinkc_config_free(ctypes.byref(config))
assert config.value is None and error.value is None
print(lib.tinkc_version().decode())
