//! Repositories of every kind: lanes work in them, or say why not before an agent starts. By default each kind is played
//! in one of two ways, with `SAMUEL_LONG=1` in both.

use crate::{
    bench::says,
    lane_ground::{Ground, into_of, task},
};

/// What lanes come to.
enum Comes {
    /// All lands; then a line of shell holds, in which `$into` is the branch.
    Works(&'static str),
    /// The run ends before an agent starts, and says so.
    Refused(&'static [&'static str]),
}
use Comes::{Refused, Works};

/// A repository whose first commit has samuel.toml and a file.
const PLAIN: &str = "git init --quiet --initial-branch=main; git config user.name Ada; \
                     git config user.email ada@example.org; echo one > a.txt; git add a.txt samuel.toml; \
                     git commit --quiet --message Start";

/// A kind of repository: its name, how it is made of a directory with samuel.toml and a plan, what the agents do
/// beside their work, and what that comes to.
type Kind = (&'static str, &'static str, &'static str, Comes);

const KINDS: [Kind; 18] = [
    ("no repository", "true", "", Refused(&["it is in no git repository"])),
    ("no commit", "git init --quiet", "", Refused(&["it has no commit yet"])),
    (
        "a shallow clone",
        "$PLAIN; git commit --quiet --allow-empty -m Two; cp -r .git ../full; rm -rf .git; \
         git clone --quiet --depth 1 --bare file://$PWD/../full ../shallow && cp -r ../shallow .git; \
         git config core.bare false; git config user.name Ada; git config user.email ada@example.org; git reset --quiet",
        "",
        Works("test $(git rev-list --count main) = 1"),
    ),
    ("a plain one", "$PLAIN", "", Works("true")),
    (
        "ids of 32 bytes",
        "git init --quiet --object-format=sha256 --initial-branch=main; $PLAIN",
        "",
        Works("test $(git rev-parse $into | wc -c) = 65"),
    ),
    (
        "references in a table",
        "git init --quiet --ref-format=reftable --initial-branch=main 2>/dev/null; $PLAIN",
        "",
        Refused(&["reftable"]),
    ),
    (
        "submodules",
        "git init --quiet ../part; git -C ../part -c user.name=A -c user.email=a@b commit --quiet --allow-empty -m Part; \
         $PLAIN; git -c protocol.file.allow=always submodule --quiet add ../part part; git commit --quiet -m Part",
        "",
        Works("test \"$(git ls-tree $into part | cut -d' ' -f1)\" = 160000"),
    ),
    (
        "pointers of LFS without LFS",
        "$PLAIN; echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes; \
         printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:0\\nsize 1\\n' > x.bin; \
         git add .gitattributes x.bin; git commit --quiet -m LFS",
        "",
        Works("git show $into:x.bin | grep -q git-lfs"),
    ),
    (
        "pointers of LFS with a filter that fails",
        "$PLAIN; echo '*.bin filter=lfs -text' > .gitattributes; echo pointer > x.bin; git add .gitattributes x.bin; git commit --quiet -m LFS; \
         git config filter.lfs.smudge 'no-such-lfs smudge'; git config filter.lfs.clean cat; git config filter.lfs.required true",
        "",
        Works("git show $into:x.bin | grep -q pointer"),
    ),
    (
        "line ends that git changes",
        "git init --quiet --initial-branch=main; git config core.autocrlf true; $PLAIN 2>/dev/null; \
         printf 'one\\r\\ntwo\\r\\n' > crlf.txt; git add crlf.txt; git commit --quiet -m Ends",
        "printf 'three\\r\\n' > ends-$id.txt",
        Works("test \"$(git show $into:crlf.txt | od -c | grep -c '\\\\r')\" = 0"),
    ),
    (
        "a rename of case only",
        "$PLAIN",
        "if test $id = 1; then git mv a.txt A.txt; fi",
        Works("git cat-file -e $into:A.txt; ! git cat-file -e $into:a.txt 2>/dev/null"),
    ),
    (
        "a sparse checkout",
        "$PLAIN; mkdir in out; echo 1 > in/x; echo 1 > out/x; git add in out; git commit --quiet -m Dirs; \
         git sparse-checkout set --cone in",
        "echo $id > in/new-$id",
        Works("git cat-file -e $into:out/x; git cat-file -e $into:in/new-1; test ! -e out"),
    ),
    (
        "a linked work tree",
        "mv samuel.toml ../kept.toml; git init --quiet --initial-branch=main ../first; cd ../first; cp ../kept.toml samuel.toml; \
         $PLAIN; git worktree add --quiet ../linked; cp ../linked/.git ../project/.git; cd ../project; \
         git -C ../first worktree repair $PWD >/dev/null 2>&1; mv ../kept.toml samuel.toml; git reset --quiet --hard",
        "",
        Works("test -f .git"),
    ),
    (
        "a part of a repository",
        "cd ..; git init --quiet --initial-branch=main; git config user.name Ada; git config user.email ada@example.org; \
         echo x > top.txt; git add top.txt project/samuel.toml; git commit --quiet -m Start",
        "test -e ../top.txt",
        Works("git cat-file -e $into:project/made-1.txt"),
    ),
    (
        "nobody known to git",
        "$PLAIN; git config --unset user.name; git config --unset user.email",
        "export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x",
        Works("git log -1 --format=%an $into | grep -q ."),
    ),
    (
        "a partial clone",
        "$PLAIN; git config uploadpack.allowFilter true; cp -r .git ../full; rm -rf .git; \
         git clone --quiet --no-local --filter=blob:none --no-checkout file://$PWD/../full ../part; cp -r ../part/.git .git; \
         git config user.name Ada; git config user.email ada@example.org; git reset --quiet",
        "",
        Refused(&["its repository is a partial clone"]),
    ),
    (
        "names that need quoting",
        "$PLAIN; printf x > \"$(printf 'a\\tb \\303\\244')\"; git add a*; git commit --quiet -m Names",
        "printf '%s' $id > \"$(printf 'n\\tew \\303\\244')-$id\"",
        Works("test $(git ls-tree -r --name-only $into | wc -l) -ge 6"),
    ),
    (
        "names that git takes for the same",
        "$PLAIN; git config core.ignorecase true",
        "case $id in 1) git mv a.txt A.txt; echo one > File;; 2) echo two > file;; esac",
        Works(
            "test \"$(git ls-tree --name-only $into a.txt A.txt File file | tr '\\n' ' ')\" = 'A.txt File file '; \
             test $(git show $into:file) = two",
        ),
    ),
];

/// Two tasks whose agents are at work at once.
fn ground_of(line: &str) -> Ground {
    let ground = Ground::bare(["1", "2"].map(|id| task(id, &[], &[])).to_vec());
    ground.sh(&format!("set -e; {}", line.replace("$PLAIN", PLAIN)));
    ground.agents(|lanes| lanes.meeting(["1", "2"]))
}

/// Says whether the kind of a place is played in one of the two ways, of which each has every other kind.
fn plays(place: usize, way: usize) -> bool {
    std::env::var_os("SAMUEL_LONG").is_some() || place % 2 == way
}

// Takes about 17 s: of the 18 kinds 12 are played, most of which have two agents whose work lands.
#[test]
fn lanes_work_in_every_repository_or_say_why_not_before_an_agent_starts() {
    for (place, (kind, line, beside, comes)) in KINDS.into_iter().enumerate() {
        if matches!(comes, Works(_)) && !plays(place, 0) {
            continue;
        }
        let ground = ground_of(line);
        let agent = format!(
            "id=$SAMUEL_TASK_ID; {{ {}; }}\n{}",
            if beside.is_empty() { "true" } else { beside },
            ground.lanes.command()
        );
        let ran = ground.bench.start(&agent, &["--jobs", "2", "--json"]);
        match comes {
            Works(line) => {
                assert_eq!(ran.code, 0, "{kind}: {ran:?}");
                let into = into_of(&ran);
                assert_eq!(ground.landed(&into), ["1", "2"], "{kind}: {ran:?}");
                let holds = ground.tries(&format!("set -e; into={into}; {line}"));
                assert!(holds.is_ok(), "{kind}: {holds:?}");
                ground.sh("git fsck --no-dangling --no-progress 2>&1");
            }
            Refused(parts) => {
                assert_ne!(ran.code, 0, "{kind}: {ran:?}");
                says(&ran.text(), parts);
                assert_eq!(ground.lanes.began().unwrap(), [], "{kind}: an agent was started");
                let claims = std::fs::read_to_string(ground.bench.prd()).unwrap();
                assert!(!claims.contains("working"), "{kind}: {claims}");
            }
        }
    }
}

/// Landing moves the tree of whoever has the branch checked out, in these kinds alike.
// Takes about 17 s: eight kinds are played, each with two agents whose work lands.
#[test]
fn a_branch_that_is_checked_out_is_moved_with_its_tree_in_every_repository() {
    let skipped = ["no repository", "no commit", "references in a table"];
    for (place, (kind, line, beside, comes)) in KINDS.into_iter().enumerate() {
        let Works(_) = comes else { continue };
        if skipped.contains(&kind) || !plays(place, 1) {
            continue;
        }
        let ground = ground_of(line);
        let into = ground.sh("git symbolic-ref --short HEAD");
        let agent = format!(
            "id=$SAMUEL_TASK_ID; {{ {}; }}\n{}",
            if beside.is_empty() { "true" } else { beside },
            ground.lanes.command()
        );
        let ran = ground.bench.start(&agent, &["--jobs", "2", "--into", &into, "--json"]);
        assert_eq!(ran.code, 0, "{kind}: {ran:?}");
        assert_eq!(ground.landed(&into), ["1", "2"], "{kind}");
        assert!(ground.bench.path("made-1.txt").exists(), "{kind}");
        assert_eq!(ground.sh("git status --porcelain --untracked-files=no"), "", "{kind}");
    }
}

#[test]
fn lanes_land_on_the_checked_out_branch_of_a_repository_with_thousands_of_files() {
    let directories = if std::env::var_os("SAMUEL_LONG").is_some() { 100 } else { 10 };
    let ids = ["1", "2", "3", "4", "5"];
    let mut ground = Ground::bare(ids.map(|id| task(id, &[], &[])).to_vec());
    ground.first = "echo mine >> d$SAMUEL_TASK_ID/f1\n".to_owned();
    let files = format!(
        "for d in $(seq {directories}); do mkdir d$d; for f in $(seq 100); do echo $d $f > d$d/f$f; done; done; \
         git add d*; git commit --quiet -m Files"
    );
    ground.sh(&format!("set -e; {PLAIN}; {files}"));
    let ran = ground.start(3, &["--into", "main", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ground.all_landed("main", &ids, &ran);
    let count = ground.sh("git ls-tree -r --name-only main | wc -l");
    assert_eq!(count, (100 * directories + 2 + ids.len()).to_string());
    for id in ids {
        assert_eq!(ground.bench.read(&format!("d{id}/f1")), format!("{id} 1\nmine\n"));
    }
    assert_eq!(ground.sh("git status --porcelain --untracked-files=no"), "");
}
