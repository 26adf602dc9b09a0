#!/bin/bash
# .git/hooks and .git/config: protected in a repository, and where there is none an absent .git stays absent for git.
. "$(dirname "$0")/../lib.sh"
levels container
need git
export GIT_CONFIG_GLOBAL=/dev/null
git_env=(--env GIT_AUTHOR_NAME=a --env GIT_AUTHOR_EMAIL=a@b --env GIT_COMMITTER_NAME=a --env GIT_COMMITTER_EMAIL=a@b)
guard=(--protect .git/hooks --protect .git/config "${git_env[@]}" --workdir /m)
R=$WORK/repo
git init -q "$R"
echo one >"$R/file"
hash=$(sha256sum <"$R/.git/config")
hooks=$(ls "$R/.git/hooks")
repo() { box --rw "$R:/m" "$@"; }

ok "control: git works in a protected repository" repo "${guard[@]}" -- sh -c 'git add file && git commit -qm first && git log --oneline && git status'
is "$(git -C "$R" log --format=%s)" first "and the host sees the commit"
repo "${guard[@]}" -- sh -c 'echo evil >.git/hooks/pre-commit; git config core.hooksPath /m/evil; git config core.pager evil; echo evil >>.git/config
	mv .git .git2; cp -r .git2 .git; rm -rf .git/hooks; mkdir .git/hooks; git init -q --template=/m/t; git config --file .git/config a.b c' >/dev/null 2>&1
is "$(sha256sum <"$R/.git/config")" "$hash" "the configuration is as it was"
is "$(ls "$R/.git/hooks")" "$hooks" "the hooks are as they were"
ok "the repository is where it was" git -C "$R" status
repo "${git_env[@]}" --workdir /m -- sh -c 'echo evil >.git/hooks/pre-commit; git config core.pager evil'
isnt "$(sha256sum <"$R/.git/config")" "$hash" "control: without the rule it changes"

# With a file "commondir" git takes configuration and hooks from elsewhere: whoever protects them protects against that as well.
V=$WORK/victim
git init -q "$V"
echo one >"$V/file"
git -C "$V" -c user.name=a -c user.email=a@b add file
attack='mkdir -p evil && cp -r .git/objects .git/refs .git/HEAD evil/ && printf "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch '$V'/ran; false\"\n" >evil/config
	rm -f .git/commondir; echo ../evil >.git/commondir; mv .git/commondir .git/x; echo ../evil >.git/y; mv .git/y .git/commondir; git status >/dev/null 2>&1; echo done'
victim() { box --rw "$V:/m" --workdir /m "${git_env[@]}" "$@"; }
for guards in '--protect .git/hooks' '--protect .git/config' '--protect /m/.git/hooks/'; do
	# shellcheck disable=SC2086 # words
	is "$(victim $guards -- sh -c "$attack" 2>/dev/null)" "done" "an attack by commondir, $guards"
	ok "$guards: git's directory is its own" test ! -e "$V/.git/commondir"
	git -C "$V" status >/dev/null 2>&1
	ok "$guards: nothing of the payload's runs outside" test ! -e "$V/ran"
done
# shellcheck disable=SC2086
like "$(victim --protect .git/config -- sh -c 'git status --short; cat .git/commondir')" '^A  file' "git works meanwhile, inside"
victim --protect .git/config -- sleep 2 &
like "$(until_true 20 test -e "$V/.git/commondir"; git -C "$V" status --short 2>&1 | head -n 1)" '^A  file' "and outside"
wait $!
ok "what stood for it is gone" test ! -e "$V/.git/commondir"
(cd "$V" && "$CORDON" run --policy build --level "$LEVEL" -- sh -c "cd /project && $attack; mkdir -p .git/worktrees/w; echo x >.git/config.worktree") >/dev/null 2>&1
is "$(ls -d "$V"/.git/{commondir,worktrees,config.worktree} 2>/dev/null)" "" "the preset build holds all three ways"
rm -rf "$V/evil"
victim -- sh -c "$attack" >/dev/null 2>&1
git -C "$V" status >/dev/null 2>&1
ok "control: without a rule the payload's command runs outside" test -e "$V/ran"

# No repository.
N=$WORK/none
mkdir "$N"
echo x >"$N/file"
none() { box --rw "$N:/m" "${guard[@]}" "$@"; }
like "$(none -- git status 2>&1)" "not a git repository" "git sees no repository"
none -- git init -q >/dev/null 2>&1
none -- sh -c 'mkdir -p .git/hooks && echo evil >.git/hooks/pre-commit; ln -s file .git; echo "gitdir: /m/x" >.git' >/dev/null 2>&1
ok "and none is made" test ! -e "$N/.git" -a ! -L "$N/.git"
is "$(ls -A "$N")" file "nothing is left in the directory"
none -- git clone -q /m/x /m/y >/dev/null 2>&1
# A directory with HEAD, objects and refs is a bare repository to git, which obeys its config, where there is no .git or not any more.
bare='rm -rf .git/HEAD; mkdir -p objects refs; for i in 1 2; do echo "ref: refs/heads/x" >x; mv -f x HEAD; ln -sf x HEAD; rm -f HEAD; done; echo "ref: refs/heads/x" >HEAD
	printf "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = \"touch '$WORK'/bare; false\"\n" >config'
for kind in none repository; do
	rm -rf "$WORK/dir" "$WORK/bare"
	mkdir "$WORK/dir"
	[ $kind = none ] || git init -q "$WORK/dir"
	box --rw "$WORK/dir:/m" "${guard[@]}" -- sh -c "$bare" >/dev/null 2>&1
	git -C "$WORK/dir" status >/dev/null 2>&1
	ok "a directory (.git: $kind) becomes no bare repository" test ! -e "$WORK/bare" -a ! -e "$WORK/dir/HEAD" -a -e "$WORK/dir/config"
	box --rw "$WORK/dir:/m" --workdir /m -- sh -c "$bare" >/dev/null 2>&1
	git -C "$WORK/dir" status >/dev/null 2>&1
	ok "control: without a rule the payload's command runs outside (.git: $kind)" test -e "$WORK/bare"
done
# Inside a repository further up, git finds that one.
mkdir "$R/sub"
like "$(box --rw "$R:/m" "${git_env[@]}" --protect /m/sub/.git/hooks --workdir /m/sub -- git rev-parse --show-toplevel 2>&1)" '^/m$' "an absent .git does not hide the one above"
ok "and is absent" test ! -e "$R/sub/.git"
done_testing
