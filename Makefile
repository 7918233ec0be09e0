# What people type. The work is in CMake (CMakeLists.txt, CMakePresets.json) and scripts/.
# `make demo` and `make test` each do everything on a fresh Debian 12.
MAKEFLAGS += --no-print-directory
PREFIX ?= /usr/local

.PHONY: all deps build test check bench interop soak mutate demo fuzz install clean
all: build

deps:
	@scripts/deps.sh

build: deps
	@cmake --preset release >/dev/null
	@cmake --build --preset release

test: build
	@scripts/test.sh

check: deps
	@scripts/check.sh

bench: build
	@scripts/bench.sh

interop: build
	@scripts/interop.sh

soak: build
	@scripts/soak.sh

mutate: deps
	@scripts/mutate.py

fuzz: deps
	@scripts/fuzz.sh

demo: build
	@scripts/demo.sh

install: build
	@cmake --install build --prefix "$(PREFIX)"

clean:
	rm -rf build
