# shellcheck shell=bash
# Helpers of the tests of ordinary programs, sourced after ../lib.sh.

# has PROGRAM PACKAGE: whether the program is here, and in the image of the boxes; if not, that is said as a skip with the Debian package that has it.
has() {
	if command -v "$1" >/dev/null; then
		[ -n "${CORDON_ENGINE_IMAGE:-}" ] || return 0
		box -- sh -c 'command -v "$0"' "$1" >/dev/null && return
		skip "$1" "the image $CORDON_ENGINE_IMAGE has no $1"
		return 1
	fi
	skip "$1" "there is no $1: apt-get install $2"
	return 1
}
# works DESC WANT FLAG… -- COMMAND…: the program succeeds, its stdout is WANT (or matches, if it is ~REGEX), and the result holds no
# denial: an ordinary program asks for nothing that is refused, and a model that reads the result is not led astray.
works() {
	local desc=$1 want=$2
	[[ $want == '~'* || $want == '' ]] || want+=$'\n'
	shift 2
	result "$@"
	expect "$desc" status=success "stdout=$want" 'denials=[]'
}
# python DESC WANT FLAG…: the same for a Python program on stdin, as a file of its own, as spawn and forkserver need it.
python() {
	cat >"$WORK/program.py"
	works "$@" --ro "$WORK/program.py" -- python3 "$WORK/program.py"
}
here() { [ "$LEVEL" = container ]; }
