# make lint: style, static analysis, layers, bans, exports, sizes, manual. Each check is a target of its own.
LINT_DIRS := src include tests tools examples fuzz bench
LINT_C := $(shell find $(wildcard $(LINT_DIRS)) -name '*.[ch]' 2>/dev/null | sort)
LINT_SH := $(shell find . -name '*.sh' -not -path './build/*' -not -path './.git/*' | sort) $(wildcard .ci/run)
LINT_PACKAGES := clang-format clang-tidy cppcheck shellcheck mandoc bsdextrautils binutils $(CORE_PACKAGES)
LINT_CHECKS := lint-format lint-shell lint-layers lint-ban lint-exports lint-size lint-man lint-cppcheck lint-tidy

.PHONY: lint lint-all format $(LINT_CHECKS)
lint:
	@sh tools/need.sh $(LINT_PACKAGES)
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory -k -j$(shell nproc) --output-sync=target lint-all
lint-all: $(LINT_CHECKS)
	@echo "lint: all well"

format:
	clang-format -i $(LINT_C)

lint-format:
	@echo "format"
	@clang-format --dry-run --Werror $(LINT_C) || { echo 'make format mends it' >&2; exit 1; }
lint-shell:
	@echo "shellcheck"
	@shellcheck --severity=warning $(LINT_SH)
	@shellcheck --shell=bash completions/cordon.bash
lint-layers:
	@echo "layers"
	@sh tools/check-layers.sh
lint-ban:
	@echo "banned functions"
	@sh tools/check-ban.sh $(filter src/% include/% examples/% tools/%,$(LINT_C))
lint-exports: $(B)/libcordon.so
	@echo "exports"
	@sh tools/check-exports.sh $< include/cordon.h
lint-size:
	@echo "sizes"
	@sh tools/check-size.sh $(LINT_C)
lint-man: $(B)/cordon
	@echo "manual"
	@mandoc -T lint -W warning man/cordon.1 man/cordon-policy.5
	@sh tools/check-man.sh $<
# cppcheck does not know __attribute__((cleanup)), so leaks are left to the ASan build.
lint-cppcheck:
	@echo "cppcheck"
	@mkdir -p build/lint/cppcheck
	@cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
		--suppress=memleak --suppress=resourceLeak \
		--cppcheck-build-dir=build/lint/cppcheck -D_GNU_SOURCE -D__x86_64__ -Iinclude -Isrc src

# One stamp per file, so that a second run looks only at what changed.
TIDY_C := $(LIB_SRC) $(CLI_SRC) $(EGRESS_SRC) $(wildcard src/egress/main.c) $(ENGINE_SRC) $(ENGINE_MAINS) $(INNER_SRC) $(IMAGE_SRC) src/image/main.c
TIDY_FLAGS = -std=gnu17 -Wall -Wextra $(CPPFLAGS_ALL) -Xclang -analyzer-config -Xclang max-nodes=60000 \
	$(if $(filter src/base/error.c src/policy/source.c,$<),,-include tools/lint.h)
lint-tidy: $(TIDY_C:%=build/lint/%.tidy)
build/lint/%.tidy: % .clang-tidy tools/lint.h $(filter %.h %.def,$(shell find src include -name '*.h' -o -name '*.def'))
	@mkdir -p $(@D)
	@clang-tidy --quiet $< -- $(TIDY_FLAGS) >$@.out 2>&1 || { grep -v 'warnings generated' $@.out; exit 1; }
	@mv $@.out $@
