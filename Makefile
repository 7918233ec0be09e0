# What people type. The work is in CMake (CMakeLists.txt, CMakePresets.json) and scripts/.
# `make demo` and `make test` each do everything on a fresh Debian 12, packages included;
# `make` and `make install` install no packages.
MAKEFLAGS += --no-print-directory
PREFIX ?= /usr/local

.PHONY: all build deps ready test check bench browser interop drift soak mutate demo first rl fuzz fuzz-server docs dist dist-test deb \
	deb-test install wheel clean
all: build

build:
	@scripts/build.sh

deps:
	@scripts/deps.sh

# packages first, then the build, also with make -j
ready: deps
	@scripts/build.sh

test: ready
	@scripts/test.sh

# BUT=tests leaves out one gate
check:
	@scripts/deps.sh check
	@scripts/check.sh $(if $(BUT),--but $(BUT))

bench: ready
	@scripts/bench.sh

interop: ready
	@scripts/interop.sh

# the console in a real browser
browser: ready
	@scripts/browser.sh

# asks the package index for SDK versions newer than the recorded ones
drift:
	@scripts/deps.sh interop
	@scripts/sdk-drift.py

soak: ready
	@scripts/soak.sh

mutate: deps
	@scripts/mutate.py

fuzz:
	@scripts/deps.sh check
	@scripts/fuzz.sh

fuzz-server:
	@scripts/deps.sh check
	@scripts/fuzz-server.sh

# only what the training needs: no tests
demo: deps
	@scripts/build.sh build tinkc_program libtinkc.so libtinkc.a
	@scripts/demo.sh

# the first training of README.md with five seeds, against its bar
first: deps
	@scripts/build.sh build tinkc_program
	@scripts/first.py

# agents in three languages, three seeds: the reward rises on held-out tasks
rl: deps
	@scripts/build.sh build tinkc_program examples
	@scripts/rl-demo.py

# manual pages of section 3 and the reference in HTML, from the headers
docs:
	@scripts/gen-man3.py build/api/man3
	@scripts/gen-html.py build/api/html
	@echo "build/api/html/index.html"

# a tarball of the last commit
dist:
	@scripts/dist.sh

dist-test: deps
	@scripts/dist-test.sh

# Debian packages of the last commit; deb-test (as root) uses them in a fresh system
deb:
	@scripts/deps.sh deb
	@scripts/deb.sh

deb-test:
	@scripts/deps.sh deb
	@scripts/deb-test.sh

install: build
	@cmake --install build --prefix "$(PREFIX)"

# the Python package with the library inside
wheel: build
	@scripts/wheel.py build

clean:
	rm -rf build
