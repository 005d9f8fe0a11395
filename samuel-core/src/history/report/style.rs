//! How a page looks: light or dark as the reader prefers, narrow or wide.

/// The style of a page, without anything that is fetched.
pub(super) const STYLE: &str = "
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2024;--dim:#5d6670;--line:#d9dee3;--card:#f6f8fa;--ok:#1a7f37;--bad:#c4232b;--warn:#9a6700;--mark:#0b62b8}
@media (prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;--dim:#9aa4ae;--line:#343b42;--card:#1d2125;--ok:#4ac26b;--bad:#ff7b72;--warn:#d8a33b;--mark:#6cb2ff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem;max-width:76rem;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:0 0 .2rem;line-height:1.25}h2{font-size:1.1rem;margin:2rem 0 .6rem}
p{margin:.3rem 0}.dim{color:var(--dim)}.ok{color:var(--ok)}.bad{color:var(--bad)}.warn{color:var(--warn)}
code,pre,.id{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.87em}
pre{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.6rem .8rem;margin:.4rem 0;overflow-x:auto;white-space:pre-wrap}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem;margin:1rem 0}
.cards div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.6rem .8rem}
.cards b{display:block;font-size:1.15rem;font-weight:600}.cards span{color:var(--dim);font-size:.85rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;min-width:42rem;font-size:.92rem}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid var(--line)}
th{color:var(--dim);font-weight:600;white-space:nowrap}td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td.t{min-width:14rem}td.id,td.ok,td.bad,td.warn{overflow-wrap:break-word}
.line{display:flex;height:1.6rem;border-radius:6px;overflow:hidden;background:var(--card);border:1px solid var(--line)}
.line i{flex:1 1 0;min-width:0;background:var(--ok);border-right:1px solid var(--bg)}
.line i.bad{background:var(--bad)}.line i.none{background:var(--warn)}.line i.idle{background:none;border:0}
.note{border-left:3px solid var(--warn);background:var(--card);padding:.5rem .8rem;margin:.8rem 0;border-radius:0 6px 6px 0}
details{margin:.3rem 0}summary{cursor:pointer;color:var(--mark)}
ul{margin:.3rem 0;padding-left:1.3rem}
@media (max-width:40rem){body{padding:.8rem}table{min-width:27rem;font-size:.86rem}td.t{min-width:6rem}th,td{padding:.3rem}ul{padding-left:1rem}}
@media print{body{max-width:none}details>*{display:block}}
";
