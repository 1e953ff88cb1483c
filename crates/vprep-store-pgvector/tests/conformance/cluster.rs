//! A private PostgreSQL server.
//!
//! `VPREP_PGSERVER` names the directory of its programs (`bin/initdb`, `bin/postgres`). A shell
//! watches over each server and removes it, with all its files, when the test program ends,
//! however it ends.

use crate::programs::{NOBODY, is_root, readable};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tokio_postgres::{NoTls, SimpleQueryMessage};
use vprep_store::Store;
use vprep_store_pgvector::PgvectorStore;

/// Starts the server, and ends it when its standard input ends.
const SUPERVISOR: &str = r#"
    dir=$1; bin=$2; shift 2
    test "$LIMIT" && ulimit -f "$LIMIT"
    "$bin/postgres" -D "$dir/data" "$@" >>"$dir/log" 2>&1 &
    cat >/dev/null
    kill -QUIT $! 2>/dev/null; wait $!
    rm -rf "$dir"
"#;

/// Password of the role `tester`, which gets in over TCP.
pub(crate) const PASSWORD: &str = "s3cret-pässword";

/// A server with its files.
pub(crate) struct Cluster {
    dir: PathBuf,
    bin: PathBuf,
    port: u16,
    /// Largest file that the server may write, in blocks of 512 bytes, or empty.
    limit: &'static str,
    supervisor: Option<Child>,
}

/// The one server that most tests share; none if there are no programs of a server.
pub(crate) fn shared() -> Option<&'static Cluster> {
    static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
    SHARED.get_or_init(|| Cluster::start("")).as_ref()
}

impl Cluster {
    /// Starts a server, unless there are no programs of one: that is an error only where every
    /// store is required.
    pub(crate) fn start(limit: &'static str) -> Option<Self> {
        let Some(programs) = std::env::var_os("VPREP_PGSERVER").filter(|path| !path.is_empty())
        else {
            let required = std::env::var_os("VPREP_REQUIRE_STORES").is_some_and(|v| v == "1");
            assert!(!required, "VPREP_PGSERVER is not set, and VPREP_REQUIRE_STORES is");
            eprintln!("skipped: VPREP_PGSERVER does not name the programs of a server");
            return None;
        };
        let dir = tempfile::tempdir().unwrap().keep();
        let mut programs = PathBuf::from(programs);
        if is_root(&dir) {
            chown(&dir, Some(NOBODY), Some(NOBODY)).unwrap();
            programs = readable(&programs, &dir);
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut cluster = Self { bin: programs.join("bin"), dir, port, limit, supervisor: None };
        cluster.initialise();
        cluster.start_again();
        cluster.sql("postgres", &format!("CREATE ROLE tester LOGIN PASSWORD '{PASSWORD}'"));
        cluster.sql("postgres", "GRANT CREATE ON SCHEMA public TO tester");
        Some(cluster)
    }

    fn initialise(&self) {
        let mut initdb = self.command(&self.bin.join("initdb"));
        initdb.args(["--username=postgres", "--auth-local=trust", "--auth-host=scram-sha-256"]);
        initdb.args(["--encoding=UTF8", "--locale=C", "--no-sync", "--pgdata"]);
        let output = initdb.arg(self.dir.join("data")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A command that runs as the server's user, in its directory.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.dir).env_remove("PGPASSWORD");
        if is_root(Path::new("/proc/self")) {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Starts the server over the files that it has.
    pub(crate) fn start_again(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let mut command = self.command(Path::new("/bin/sh"));
            command.args(["-c", SUPERVISOR, "sh"]).arg(&self.dir).arg(&self.bin);
            command.arg("-c").arg(format!("port={}", self.port));
            command.arg("-c").arg(format!("unix_socket_directories={}", self.dir.display()));
            for setting in [
                "listen_addresses=127.0.0.1",
                "max_connections=100",
                "shared_buffers=64MB",
                "fsync=off",
                "full_page_writes=off",
            ] {
                command.args(["-c", setting]);
            }
            command.env("LIMIT", self.limit).stdin(Stdio::piped());
            self.supervisor = Some(command.spawn().unwrap());
            let patience = Instant::now() + Duration::from_secs(20);
            while Instant::now() < patience {
                if self.store().version().is_ok() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            // A killed server may have left a process that is slow to go.
            assert!(Instant::now() < deadline, "no server: {}", self.log());
            self.supervisor.take().unwrap().kill().unwrap();
        }
    }

    /// Kills the server and all its sessions at once.
    pub(crate) fn kill(&mut self) {
        let pid_file = std::fs::read_to_string(self.dir.join("data/postmaster.pid")).unwrap();
        let mut pids = vec![pid_file.lines().next().unwrap().to_owned()];
        pids.extend(self.sql("postgres", "SELECT pid FROM pg_stat_activity"));
        Command::new("kill").arg("-9").args(&pids).stderr(Stdio::null()).status().unwrap();
        // The supervisor too, so that it does not remove the files.
        self.supervisor.take().unwrap().kill().unwrap();
    }

    /// The store on a Unix socket, as the superuser.
    pub(crate) fn store(&self) -> PgvectorStore {
        self.database("postgres")
    }

    /// The same for another database.
    pub(crate) fn database(&self, name: &str) -> PgvectorStore {
        PgvectorStore::at(self.socket_url(name))
    }

    /// A URL of the Unix socket, for the superuser.
    pub(crate) fn socket_url(&self, database: &str) -> String {
        let (dir, port) = (self.dir.display(), self.port);
        format!("postgresql:///{database}?host={dir}&port={port}&user=postgres")
    }

    /// A URL over TCP.
    pub(crate) fn tcp_url(&self, credentials: &str, database: &str) -> String {
        format!("postgresql://{credentials}@127.0.0.1:{}/{database}", self.port)
    }

    /// Host, port and database of [`tcp_url`](Self::tcp_url).
    pub(crate) fn tcp_place(&self, database: &str) -> String {
        format!("127.0.0.1:{}/{database}", self.port)
    }

    /// Runs statements; returns the first column of all rows.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let url = self.socket_url(database);
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            tokio::spawn(connection);
            let messages =
                client.simple_query(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
            let first = |message| match message {
                SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
                _ => None,
            };
            messages.into_iter().filter_map(first).collect()
        })
    }

    /// What the server has written to its log.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut supervisor) = self.supervisor.take() {
            // Waiting closes its standard input.
            let _ = supervisor.wait();
        }
    }
}
