export const COORDINATION = `# single: one agent, no claims and no leases. multi: claims decide who works on what.
coordination:
  mode: multi

parallelism:
  # true: features that share modules with claimed work are refused, not only warned of.
  enforce: false

claims:
  stale_threshold_seconds: 1800
  claim_ttl_seconds: 3600
  # hold: a stale claim stays with its holder until a human or max_hold_seconds frees it. takeover: anybody may take it.
  on_ttl: hold
`;
