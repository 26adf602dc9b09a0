#!/bin/bash
# git works in a box: init, commit, branch, merge, clone of a local path, hooks, archive, gc; also in a directory of the host's.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process
has git git || done_testing
# git gives up where /etc/gitconfig is there but cannot be read. Process level hides it, since it may hold credentials, but not that it is there.
flags=()
[ "$LEVEL" = container ] || [ ! -e /etc/gitconfig ] || flags=(--env GIT_CONFIG_NOSYSTEM=1)

cat >"$WORK/story.sh" <<'END'
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git init -q -b main one
cd one
echo 1 >file
git add file
git commit -q -m first
git checkout -q -b side
echo side >side
git add side
git commit -q -m second
git checkout -q main
echo 2 >>file
mkdir -p .git/hooks
printf '#!/bin/sh\necho ran >hook-ran\n' >.git/hooks/pre-commit
chmod +x .git/hooks/pre-commit
git commit -q -a -m third
test -e hook-ran
git merge -q -m merge side
git tag v1
git gc -q
cd ..
git clone -q one two
cd two
git log --format=%s --topo-order | wc -l
git archive v1 | tar t | sort | tr '\n' ' '
echo change >>file
git diff --stat | tail -n 1
git stash -q
git status --short | wc -l
git fsck --no-progress 2>&1
cd ..
rm -rf two
END
works "init, commit, branch, hook, merge, gc, clone, archive, diff, stash, fsck" \
	$'4\nfile side  1 file changed, 1 insertion(+)\n0' "${flags[@]}" --ro "$WORK/story.sh" -- bash "$WORK/story.sh"

if can_rw; then
	mkdir "$WORK/project"
	works "the same in a directory of the host's" $'4\nfile side  1 file changed, 1 insertion(+)\n0' --rw "$WORK/project" "${flags[@]}" --ro "$WORK/story.sh" \
		--workdir "$WORK/project" -- bash "$WORK/story.sh"
	is "$(git -C "$WORK/project/one" log --format=%an -1)" a "and its commits are there afterwards, in a repository that git outside trusts"
	git -C "$WORK/project/one" config user.email b@example.org
	git -C "$WORK/project/one" config user.name b
	works "and a repository made outside is trusted inside" $'b\n4' "${flags[@]}" --rw "$WORK/project" --workdir "$WORK/project/one" -- bash -c '
		git commit -q --allow-empty -m inside && git log -1 --format=%an && git log --first-parent --format=%s | wc -l'
fi
done_testing
