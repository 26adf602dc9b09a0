# make demo: a Python answer from a box, then ten attacks and what stopped them. As root or as an ordinary user.
DEMO_PACKAGES := $(CORE_PACKAGES) python3

.PHONY: demo
demo:
	@sh tools/need.sh $(DEMO_PACKAGES)
	@mkdir -p build
	@$(MAKE) --no-print-directory -j$(shell nproc) V=release all >build/demo.log 2>&1 || { cat build/demo.log; exit 1; }
	@bash demo/demo.sh build/cordon
