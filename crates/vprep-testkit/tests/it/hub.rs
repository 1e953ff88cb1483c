//! The hub's protocol.

use serde_json::json;
use vprep_testkit::{Content, Delivery, Hub, Repo};

use crate::client::{get, get_range, head, send};

const FILE: &str = "/datasets/acme/words/resolve/main/data/train.parquet";

fn start(change: impl FnOnce(Repo) -> Repo) -> (Hub, Content, String) {
    let hub = Hub::start().unwrap();
    let content = Content::random(7, 100_000);
    let repo = Repo::dataset("acme/words")
        .file("README.md", "# words\n")
        .file("data/notes.txt", "none")
        .lfs("data/train.parquet", content.clone());
    let sha = hub.add_repo(change(repo));
    (hub, content, sha)
}

#[test]
fn information_and_listings() {
    let (hub, content, sha) = start(|repo| repo);
    let info = get(&hub, "/api/datasets/acme/words").json();
    assert_eq!((&info["sha"], &info["gated"]), (&json!(sha), &json!(false)));
    assert_eq!(info["siblings"][1], json!({"rfilename": "data/notes.txt"}));
    let info = get(&hub, "/api/datasets/acme/words/revision/main?blobs=true").json();
    assert_eq!(info["siblings"][2]["lfs"]["sha256"], json!(content.sha256()));
    assert_eq!(get(&hub, &format!("/api/datasets/acme/words/revision/{sha}")).json()["sha"], sha);

    let top = get(&hub, "/api/datasets/acme/words/tree/main").json();
    let names: Vec<_> = top.as_array().unwrap().iter().map(|e| (&e["type"], &e["path"])).collect();
    assert_eq!(
        names,
        [(&json!("file"), &json!("README.md")), (&json!("directory"), &json!("data"))]
    );
    let data = get(&hub, "/api/datasets/acme/words/tree/main/data?expand=true").json();
    assert_eq!(data[1]["path"], "data/train.parquet");
    assert_eq!(data[1]["lfs"]["oid"], content.sha256());
    assert_eq!(data[1]["lfs"]["pointerSize"], 131);
    assert!(data[1]["lastCommit"]["id"].is_string());
    let missing = get(&hub, "/api/datasets/acme/words/tree/main/nothing");
    assert_eq!((missing.status, missing.header("x-error-code")), (404, Some("EntryNotFound")));

    for body in
        [r#"{"paths": ["data", "README.md", "x"]}"#, "paths=data&paths=README.md&expand=False"]
    {
        let found =
            send(&hub, "POST", "/api/datasets/acme/words/paths-info/main", &[], body).json();
        assert_eq!(found.as_array().unwrap().len(), 2, "{body}");
    }
    let agents = get(&hub, "/api/agent-harnesses").json();
    assert_eq!(agents["harnesses"], json!({}));
    let refs = get(&hub, "/api/datasets/acme/words/refs").json();
    assert_eq!(refs["branches"][0]["targetCommit"], sha);
}

#[test]
fn listings_come_in_pages() {
    let (hub, ..) = start(|repo| repo);
    hub.set_page_size(2);
    let mut next = Some(format!("{}/api/datasets/acme/words/tree/main?recursive=true", hub.url()));
    let mut paths = Vec::new();
    while let Some(url) = next {
        let page = get(&hub, &url);
        paths.extend(
            page.json().as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap().to_owned()),
        );
        let link = page.header("link");
        next = link.map(|link| link.trim_start_matches('<').split_once('>').unwrap().0.to_owned());
    }
    assert_eq!(paths, ["README.md", "data", "data/notes.txt", "data/train.parquet"]);
    assert_eq!(hub.log().len(), 2);
}

#[test]
fn large_files_are_redirected_to_the_cdn() {
    let (hub, content, sha) = start(|repo| repo);
    let redirect = head(&hub, FILE);
    assert_eq!(redirect.status, 302);
    assert_eq!(redirect.header("x-repo-commit"), Some(sha.as_str()));
    assert_eq!(redirect.header("x-linked-size"), Some("100000"));
    assert_eq!(redirect.header("x-linked-etag"), Some(&format!("\"{}\"", content.sha256())[..]));
    let location = redirect.header("location").unwrap();
    assert!(location.starts_with(&hub.cdn_url()), "{location}");
    assert_ne!(hub.cdn_url(), hub.url());

    let file = get(&hub, location);
    assert!(file.body == content.to_vec());
    assert_eq!(file.header("x-repo-commit"), None);
    assert_ne!(file.header("etag"), redirect.header("x-linked-etag"));
    assert_eq!(get_range(&hub, location, "bytes=-5").body, content.to_vec()[99_995..]);
    let log = hub.log();
    assert_eq!(log.iter().map(|entry| entry.cdn).collect::<Vec<_>>(), [false, true, true]);
    assert!(log.iter().all(|e| e.key.as_deref() == Some("datasets/acme/words/data/train.parquet")));
    assert_eq!(log.iter().filter(|entry| entry.is_download()).count(), 2);
}

#[test]
fn other_deliveries() {
    let (hub, content, _) = start(|repo| repo.lfs_delivery(Delivery::Direct));
    let direct = get(&hub, FILE);
    assert_eq!(direct.status, 200);
    assert!(direct.header("x-repo-commit").is_some());
    assert!(direct.body == content.to_vec());

    let (hub, content, sha) = start(|repo| repo.lfs_delivery(Delivery::Relative));
    let relative = head(&hub, FILE);
    let location = relative.header("location").unwrap();
    assert_eq!((relative.status, location.starts_with("/api/resolve-cache/")), (307, true));
    let file = get(&hub, location);
    assert_eq!(file.header("x-repo-commit"), Some(sha.as_str()));
    assert_eq!(file.header("etag"), Some(&format!("\"{}\"", content.sha256())[..]));

    let (hub, ..) = start(|repo| repo.lfs_delivery(Delivery::Cdn307));
    assert_eq!(head(&hub, FILE).status, 307);
}

#[test]
fn small_files_have_gits_name_as_etag() {
    let (hub, _, sha) = start(|repo| repo.git_delivery(Delivery::Direct));
    let file = get(&hub, "/datasets/acme/words/resolve/main/README.md");
    assert_eq!((file.status, &file.body[..]), (200, &b"# words\n"[..]));
    let name = Content::from("# words\n").git_blob().to_owned();
    assert_eq!(file.header("etag"), Some(&format!("\"{name}\"")[..]));
    assert_eq!(file.header("x-repo-commit"), Some(sha.as_str()));
    assert_eq!(file.header("x-linked-etag"), None);
}

#[test]
fn a_new_commit_moves_the_branch_and_keeps_the_old_one() {
    let (hub, _, old) = start(|repo| repo);
    let new = hub.add_repo(Repo::dataset("acme/words").file("README.md", "# more words\n"));
    assert_ne!(old, new);
    assert_eq!(get(&hub, "/api/datasets/acme/words").json()["sha"], new);
    let readme = |revision: &str| {
        let path = format!("/datasets/acme/words/resolve/{revision}/README.md");
        let redirect = head(&hub, &path);
        get(&hub, redirect.header("location").unwrap()).body
    };
    assert_eq!(
        (&readme(&old)[..], &readme("main")[..]),
        (&b"# words\n"[..], &b"# more words\n"[..])
    );
    let convert = Repo::dataset("acme/words").branch("refs/convert/parquet").file("x", "y");
    hub.add_repo(convert);
    assert_eq!(head(&hub, "/datasets/acme/words/resolve/refs%2Fconvert%2Fparquet/x").status, 307);
}

#[test]
fn missing_things_have_the_hubs_codes() {
    let (hub, _, sha) = start(|repo| repo);
    hub.add_token("hf_good", [""]);
    let auth = [("Authorization", "Bearer hf_good")];
    for (target, headers, status, code) in [
        ("/datasets/acme/words/resolve/main/x", &[][..], 404, Some("EntryNotFound")),
        ("/datasets/acme/words/resolve/v9/README.md", &[], 404, Some("RevisionNotFound")),
        ("/acme/words/resolve/main/README.md", &[], 401, Some("RepoNotFound")),
        ("/acme/words/resolve/main/README.md", &auth[..], 404, Some("RepoNotFound")),
        ("/api/models/gpt2", &[], 401, Some("RepoNotFound")),
        ("/api/whoami-v2", &[], 401, None),
        ("/api/whoami-v2", &auth[..], 200, None),
        ("/api/whoami-v2", &[("Authorization", "Bearer hf_bad")][..], 401, None),
    ] {
        let response = send(&hub, "GET", target, headers, "");
        assert_eq!((response.status, response.header("x-error-code")), (status, code), "{target}");
    }
    let missing = head(&hub, "/datasets/acme/words/resolve/main/x");
    assert_eq!(missing.header("x-repo-commit"), Some(sha.as_str()));
}

#[test]
fn gates() {
    let (hub, content, _) = start(Repo::gated);
    hub.add_token("hf_good", ["acme/words"]);
    hub.add_token("hf_other", ["acme/else"]);
    let ask = |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str())];
        send(&hub, "HEAD", FILE, if token.is_empty() { &[] } else { &headers }, "")
    };
    let refused = ask("");
    assert_eq!((refused.status, refused.header("x-error-code")), (401, Some("GatedRepo")));
    assert!(refused.header("x-error-message").unwrap().contains("acme/words is restricted"));
    let refused = ask("hf_other");
    assert_eq!((refused.status, refused.header("x-error-code")), (403, Some("GatedRepo")));
    assert_eq!(ask("hf_bad").status, 401);
    let allowed = ask("hf_good");
    assert_eq!(allowed.status, 302);
    // The signed address needs no token.
    assert!(get(&hub, allowed.header("location").unwrap()).body == content.to_vec());
    assert_eq!(get(&hub, "/api/datasets/acme/words").json()["gated"], "manual");
    let log = hub.log();
    assert_eq!(
        log.iter().map(|entry| entry.authorization).collect::<Vec<_>>(),
        [false, true, true, true, false, false]
    );
    assert!(!format!("{log:?}").contains("hf_good"));

    let (hub, ..) = start(Repo::private);
    let hidden = get(&hub, "/api/datasets/acme/words");
    assert_eq!((hidden.status, hidden.header("x-error-code")), (401, Some("RepoNotFound")));
}

#[test]
fn renamed_repositories_redirect_within_the_hub() {
    let (hub, ..) = start(|repo| repo.formerly("old/words"));
    let moved = head(&hub, "/datasets/old/words/resolve/main/README.md");
    let location = "/datasets/acme/words/resolve/main/README.md";
    assert_eq!((moved.status, moved.header("location")), (307, Some(location)));
    assert_eq!(get(&hub, "/api/datasets/old/words/tree/main").status, 307);
}

#[test]
fn commits_can_be_pinned() {
    let sha = "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a";
    let hub = Hub::start().unwrap();
    let repo = Repo::model("BAAI/bge-small-en-v1.5").commit(sha).file("config.json", "{}");
    assert_eq!(hub.add_repo(repo), sha);
    let target = format!("/BAAI/bge-small-en-v1.5/resolve/{sha}/config.json");
    assert_eq!(head(&hub, &target).header("x-repo-commit"), Some(sha));
}
