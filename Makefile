# SPDX-License-Identifier: Apache-2.0
# The front door: `make help` lists what is behind it. The real build is CMake with its presets.

JOBS    := $(shell nproc)
MINUTES ?= 10
ARGS    ?=

# ThreadSanitizer's shadow memory does not fit every randomised address space, so its tests run
# without randomisation where the system allows to switch it off.
FIXED_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

# npm and chromium keep things at home, which the user of a container may not have.
ifneq ($(shell test -w "$$HOME" && echo writable),writable)
    export HOME := $(CURDIR)/build/home
endif

CPP_FILES := git ls-files '*.cpp' '*.hpp'

.DEFAULT_GOAL := help
.PHONY: help setup run web test check clang asan tsan debug bench microbench models mutants soak
.PHONY: reliability lint format clean consumers interop package site fuzz

help: ## this list
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: ## installs the Debian packages that are missing, if any
	@tools/setup.sh

run: setup ## the demo service, with the dashboard at http://127.0.0.1:7077 (SECONDS=20 PORT=7078)
	@cmake --preset release >/dev/null
	cmake --build --preset release --target demo cadrectl
	@build/release/demo/demo $(if $(SECONDS),--seconds $(SECONDS)) $(if $(PORT),--port $(PORT)) $(ARGS)

web: setup ## makes the dashboard's page anew, from web/src
	cd web && npm ci --ignore-scripts --silent && node build.mjs

test: setup ## release build; unit, oracle and browser tests
	$(call build_and_test,release)

check: setup ## what else guards a merge: lint, clang, asan, tsan, models and a few mutants
	tools/figures.py part lint $(MAKE) --no-print-directory lint
	$(MAKE) clang
	$(MAKE) asan
	$(MAKE) tsan
	tools/figures.py part models models/check --short
	tools/figures.py part mutants tools/mutants.py --sample
	@tools/figures.py show lint clang asan tsan models mutants

clang: setup ## optimised build with clang++: stress tests, examples, users of the package
	$(call build_and_test,clang)

asan: setup ## build with clang++, AddressSanitizer and UBSan, and all tests
	$(call build_and_test,asan)

tsan: setup ## build with ThreadSanitizer, and all tests
	$(call build_and_test,tsan,$(FIXED_ADDRESSES))

debug: setup ## build without optimisation, and all tests
	$(call build_and_test,debug)

bench: run = bench/run $(if $(WORKLOADS),--workloads '$(WORKLOADS)') $(if $(PEERS),--peers '$(PEERS)') \
    $(if $(ROUNDS),--rounds '$(ROUNDS)') $(foreach vary,$(VARY),--vary '$(vary)') $(ARGS)
bench: ## cadre beside its peers (WORKLOADS=W1,growth ROUNDS=15 PEERS=cadre,jdk VARY=workers=3,4)
	@tools/setup.sh bench
	@$(run) --check
	cmake --preset bench
	cmake --build --preset bench
	$(if $(WORKLOADS),,bench/headers)
	$(run)

microbench: setup ## benchmarks of single parts (ARGS="--benchmark_filter=...")
	cmake --preset bench
	cmake --build --preset bench
	@set -e; for bench in build/bench/bench/*_bench; do \
	    [ -x "$$bench" ] || continue; echo "== $$bench"; "$$bench" $(ARGS); done

consumers: setup ## users of the library: static, shared, g++, clang++, -fno-rtti, C++23, each way to get it
	tests/consume/follow_guides.py
	tests/consume/matrix.sh build/consumers

package: ## the Debian packages, into build/package, checked by lintian and tried
	@tools/setup.sh package
	tools/package.sh

interop: setup ## our config sources and stand-ins with servers and clients of others, from npm
	@cmake --preset release >/dev/null
	cmake --build --preset release --target interop_peer
	cd tests/interop && npm ci --ignore-scripts --silent && node interop.mjs ../../build/release/tests/interop_peer

models: setup ## the protocols, checked by exhaustion: all of models/
	models/check

mutants: setup ## plants some hundred bugs, one at a time, and expects the tests to see each
	tools/mutants.py $(ARGS)

fuzz: setup ## each target of tests/fuzz for SECONDS (60), or TARGETS="yaml cron" alone
	tools/fuzz.sh $(or $(SECONDS),60) $(TARGETS)

soak: setup ## all that plays long, for MINUTES (10), or PARTS="ledger faults" of it alone
	tools/soak.sh $(MINUTES) $(PARTS)

reliability: setup ## soak for MINUTES, and what was found goes into docs/reliability.md
	tools/reliability.py $(MINUTES) $(PARTS)

lint: setup ## format, layers, manners, docs, recipes, models, conformance table, headers alone, clang-tidy
	@$(CPP_FILES) | xargs -r clang-format --dry-run -Werror
	tools/check_layers.py
	tools/check_manners.py
	tools/check_docs.py
	tools/check_packaging.py
	tools/check_hazards.py
	tools/check_models.py
	tools/conformance_table.py --check
	tools/mutants.py --show >/dev/null
	cmake --preset lint >/dev/null
	cmake --preset tidy >/dev/null
	cmake --build --preset tidy --target all_verify_interface_header_sets
	@find build/tidy -name 'unity_*.cxx' | sort | xargs -r -P $(JOBS) -n 1 tools/tidy.sh build/tidy patterns
	@git ls-files 'src/*.cpp' | xargs -r -P $(JOBS) -n 1 tools/tidy.sh build/lint paths
	@echo "$$($(CPP_FILES) | wc -l) sources, nothing to find fault with"

format: setup ## formats the sources and regenerates docs/conformance.md
	@$(CPP_FILES) | xargs -r clang-format -i
	tools/conformance_table.py

site: ## the guides and the reference as pages, in build/site (with Doxygen)
	@tools/setup.sh site
	tools/site.py

clean: ## removes every build
	rm -rf build

define build_and_test
	cmake --preset $(1)
	cmake --build --preset $(1)
	$(2) ctest --preset $(1) --parallel $(JOBS); status=$$?; tools/figures.py tests $(1) && exit $$status
endef
