/** What every page has around it. */
const frame = `
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f2a; --soft: #566072; --line: #d9dee7; --tint: #f4f6fa; --brand: #b45309; --focus: #1d4ed8 }
@media (prefers-color-scheme: dark) {
  :root { --paper: #11141b; --ink: #e7eaf0; --soft: #a3adbd; --line: #2c3340; --tint: #1a1f29; --brand: #fbbf24; --focus: #93c5fd }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", sans-serif }
.page { max-width: 62rem; margin-inline: auto; padding-inline: 1.25rem }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px }
.top { border-bottom: 1px solid var(--line) }
.top .page { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.5rem; padding-block: .75rem }
.top a, .tabs a { color: inherit; text-decoration-color: var(--brand); text-underline-offset: .2em }
.top a:hover, .tabs a:hover { color: var(--brand) }
.top .home { display: inline-flex; align-items: center; gap: .6rem; font-weight: 650; text-decoration: none; margin-right: auto }
.home img { display: block }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem }
nav a[aria-current] { color: var(--brand); text-decoration: none }
main { padding-block: 2.5rem 3.5rem }
h1 { font-size: clamp(1.75rem, 5vw, 2.6rem); line-height: 1.15; letter-spacing: -.02em; margin: 0 0 .75rem; max-width: 24ch }
footer { border-top: 1px solid var(--line); color: var(--soft); font-size: .9rem }
footer .page { padding-block: 1rem }
`

/** For pages that we write ourselves. Small enough to travel inside each of them. */
export const PROSE_STYLE = `${frame}
a { color: inherit; text-decoration-color: var(--brand); text-underline-offset: .2em }
a:hover { color: var(--brand) }
h2 { font-size: 1.3rem; margin: 2.75rem 0 .75rem; letter-spacing: -.01em }
h3 { font-size: 1.02rem; margin: 1.75rem 0 .25rem }
p { margin: 0 0 .75rem; max-width: 68ch }
.lead { font-size: 1.15rem; color: var(--soft) }
.note { background: var(--tint); border-left: 3px solid var(--brand); padding: .6rem .9rem; border-radius: 0 .4rem .4rem 0; max-width: 68ch }
.soft { color: var(--soft); font-weight: 400 }
ul { padding-left: 1.2rem; max-width: 68ch }
li { margin-bottom: .35rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .5rem 1rem .5rem 0; border-bottom: 1px solid var(--line) }
thead th { font-size: .85rem; color: var(--soft); font-weight: 500 }
thead th, tbody th code { white-space: nowrap }
tbody th { font-weight: 600 }
tr:target { background: var(--tint); outline: 2px solid var(--brand) }
.price { white-space: nowrap; font-variant-numeric: tabular-nums }
code, pre { font: .875rem/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
code { overflow-wrap: anywhere }
pre { margin: 0; padding: .9rem 1rem; background: var(--tint); border: 1px solid var(--line); border-radius: .5rem; overflow-x: auto }
pre code { overflow-wrap: normal }
.recipe { position: relative }
.recipe button { position: absolute; top: .5rem; right: .5rem; font: inherit; font-size: .8rem; padding: .15rem .6rem; color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: .35rem; cursor: pointer }
button, .button { display: inline-block; font: inherit; font-weight: 600; padding: .45rem 1rem; color: var(--paper); background: var(--ink); border: 1px solid var(--ink); border-radius: .4rem; text-decoration: none; cursor: pointer }
.button:hover { color: var(--paper) }
button:disabled { opacity: .6; cursor: wait }
.copy { font-size: .8rem; font-weight: 400; padding: .05rem .5rem; color: var(--ink); background: var(--paper); border-color: var(--line) }
.buttons { display: flex; flex-wrap: wrap; gap: .6rem; padding: 0; list-style: none }
.field { display: grid; gap: .2rem; max-width: 34rem }
.field label { font-weight: 600 }
.field input, .field textarea { font: inherit; width: 100%; padding: .4rem .6rem; color: var(--ink); background: var(--paper); border: 1px solid var(--soft); border-radius: .35rem }
.steps li { margin-bottom: .5rem }
.steps pre { max-height: 20rem; margin-top: .4rem }
.end h3 { margin-top: 1rem }
.ready { display: grid; gap: .6rem }
.ready form { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem }
.ready .buttons { margin: 0 }
.ready .steps:empty { display: none }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1rem; padding: 0; max-width: none; list-style: none }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: 0 }
.card h2 { margin: 0 0 .4rem; font-size: 1.1rem }
.card img, .picture { display: block; max-width: 100%; max-height: 18rem; border-radius: .4rem; margin-bottom: .75rem }
.thumb { width: 2.5rem; height: 2.5rem; object-fit: cover; border-radius: .3rem; vertical-align: middle; margin-right: .6rem }
.routes { columns: 18rem; max-width: none }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.25rem; margin: 0 }
dt { font-weight: 600 }
dd { margin: 0; color: var(--soft) }
@media (max-width: 40rem) {
  main { padding-block: 1.5rem 2.5rem }
  dl { grid-template-columns: 1fr; gap: 0 }
  dd { margin-bottom: .6rem }
  table, tbody, tr, th, td { display: block }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  tbody tr { padding: .7rem 0; border-bottom: 1px solid var(--line) }
  tbody th, td { border: 0; padding: 0 }
  tbody th code { white-space: normal }
  td { display: grid; grid-template-columns: 6.5rem 1fr; gap: .75rem }
  td::before { content: attr(data-label); color: var(--soft); font-size: .85rem }
  .recipe button { position: static; margin-top: .4rem }
}
`

/** For the page whose inside is the API viewer's: nothing of ours may reach into it but the colours. */
export const VIEWER_STYLE = `${frame}
:root.dark-mode { background: var(--paper) }
.tabs { margin-bottom: 1rem }
main > h2 { font-size: 1.3rem; margin: 1.75rem 0 .5rem }
main > p { margin: 0 0 .75rem; max-width: 68ch }
main > p a { color: inherit; text-decoration-color: var(--brand); text-underline-offset: .2em }
#viewer .swagger-ui, #viewer .scheme-container { background: none }
#viewer .scheme-container { box-shadow: none; margin: 0; padding: .5rem 0 }
#viewer .wrapper { padding: 0 }
#viewer .info { margin: 1.5rem 0 }
#viewer .swagger-ui .info p, #viewer .swagger-ui .info a, #viewer .swagger-ui .info .title { overflow-wrap: anywhere }
`
