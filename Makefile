# SPDX-License-Identifier: Apache-2.0
# The front door: `make help` lists what is behind it. The real build is CMake with its presets.

JOBS    := $(shell nproc)
MINUTES ?= 10
ARGS    ?=

# ThreadSanitizer's shadow memory does not fit every randomised address space, so its tests run
# without randomisation where the system allows to switch it off.
FIXED_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

CPP_FILES := git ls-files '*.cpp' '*.hpp'

.DEFAULT_GOAL := help
.PHONY: help setup run test check clang asan tsan debug bench microbench soak lint format clean

help: ## this list
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## installs the Debian packages that are missing, if any
	@tools/setup.sh

run: setup ## builds and runs the demo (ARGS="--seconds 10")
	@cmake --preset release >/dev/null
	cmake --build --preset release --target example_demo
	build/release/examples/demo $(ARGS)

test: setup ## release build and all tests
	$(call build_and_test,release)

check: setup ## what else guards a merge: lint, clang, asan and tsan
	$(MAKE) lint
	$(MAKE) clang
	$(MAKE) asan
	$(MAKE) tsan

clang: setup ## build with clang++ and all tests
	$(call build_and_test,clang)

asan: setup ## build with AddressSanitizer and UBSan, and all tests
	$(call build_and_test,asan)

tsan: setup ## build with ThreadSanitizer, and all tests
	$(call build_and_test,tsan,$(FIXED_ADDRESSES))

debug: setup ## build without optimisation, and all tests
	$(call build_and_test,debug)

bench: ## cadre beside its peers (WORKLOADS=W1,W8a ROUNDS=15 PEERS=cadre,jdk,mine=/path/to/exe)
	@tools/setup.sh bench
	cmake --preset bench
	cmake --build --preset bench
	bench/run $(if $(WORKLOADS),--workloads '$(WORKLOADS)') $(if $(PEERS),--peers '$(PEERS)') \
	    $(if $(ROUNDS),--rounds $(ROUNDS)) $(ARGS)

microbench: setup ## benchmarks of single parts (ARGS="--benchmark_filter=...")
	cmake --preset bench
	cmake --build --preset bench
	@set -e; for bench in build/bench/bench/*_bench; do \
	    [ -x "$$bench" ] || continue; echo "== $$bench"; "$$bench" $(ARGS); done

soak: setup ## stress tests, plain and under tsan, and random scenarios, for MINUTES (10)
	tools/soak.sh $(MINUTES)

lint: setup ## format, layers, manners, docs, conformance table, headers alone, clang-tidy
	@$(CPP_FILES) | xargs -r clang-format --dry-run -Werror
	tools/check_layers.py
	tools/check_manners.py
	tools/check_docs.py
	tools/conformance_table.py --check
	cmake --preset clang >/dev/null
	cmake --build --preset clang --target all_verify_interface_header_sets
	@git ls-files 'src/*.cpp' | xargs -r -P $(JOBS) -n 1 tools/tidy.sh build/clang

format: setup ## formats the sources and regenerates docs/conformance.md
	@$(CPP_FILES) | xargs -r clang-format -i
	tools/conformance_table.py

clean: ## removes every build
	rm -rf build

define build_and_test
	cmake --preset $(1)
	cmake --build --preset $(1)
	$(2) ctest --preset $(1) --parallel $(JOBS)
endef
