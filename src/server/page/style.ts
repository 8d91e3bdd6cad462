export const PAGE_STYLE = `:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0; }
header { display: flex; flex-wrap: wrap; gap: 1rem; align-items: baseline; padding: .75rem 1.5rem; border-bottom: 1px solid #8884; }
header nav { margin-left: auto; }
h1 { font-size: 1.1rem; margin: 0; }
h2 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
main { padding: 0 1.5rem 3rem; max-width: 75rem; margin: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #8883; vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; }
progress { width: 100%; min-width: 6rem; }
code { font-family: ui-monospace, monospace; }
#link.lost { color: #c33; }
.quiet { opacity: .65; }
`;
