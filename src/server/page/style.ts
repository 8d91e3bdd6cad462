export const PAGE_STYLE = `:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; padding: .75rem 1.5rem; border-bottom: 1px solid #8884; }
header nav { margin-left: auto; }
h1 { font-size: 1.1rem; margin: 0; }
h2 { font-size: 1rem; margin: 1.75rem 0 .25rem; }
a { color: inherit; }
main { padding: 0 1.5rem 3rem; max-width: 64rem; margin: auto; }
section { overflow-x: auto; }
.long { max-height: 24rem; overflow-y: auto; }
form { margin-top: 1.5rem; }
#total { font-size: 1.3rem; margin: 1.25rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid #8883; white-space: nowrap; }
th { font-weight: 400; opacity: .65; }
td { max-width: 16rem; overflow: hidden; text-overflow: ellipsis; }
.number { text-align: right; }
#tracks th:last-child, #tracks td:last-child { width: 40%; max-width: none; }
#waiting td { white-space: normal; overflow-wrap: break-word; }
progress { appearance: none; width: 100%; min-width: 4rem; height: .5rem; border: 0; border-radius: .25rem; background: #8884; overflow: hidden; vertical-align: middle; }
progress::-webkit-progress-bar { background: none; }
progress::-webkit-progress-value { background: #2a7; }
progress::-moz-progress-bar { background: #2a7; }
code { font-family: ui-monospace, monospace; }
#link::before { content: ''; display: inline-block; width: .6em; height: .6em; margin-right: .4em; border-radius: 50%; background: #999; }
#link.live::before { background: #2a7; }
#link.lost { color: #c33; }
#link.lost::before { background: #c33; }
#link.lost ~ nav, body:has(#link.lost) #shown { opacity: .5; }
.good { color: #185; }
.bad { color: #c33; }
.odd { color: #a60; }
.quiet { opacity: .65; }
@media (prefers-color-scheme: dark) { .good { color: #4c9; } .bad, #link.lost { color: #f77; } .odd { color: #fb5; } }
@media (max-width: 40rem) {
  header, main { padding-left: 1rem; padding-right: 1rem; }
  th, td { padding-right: .6rem; }
  td { max-width: 8.5rem; }
  .spare { display: none; }
}
`;
