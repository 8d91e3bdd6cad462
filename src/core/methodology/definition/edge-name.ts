/** Names of edge files in other Genesis tools, each with the edge that it stands for. */
const FILE_ALIASES: ReadonlyMap<string, string> = new Map([
  ['tdd', 'code_unit_tests'],
  ['bdd', 'design_uat_tests'],
  ['design_tests', 'design_test_cases'],
  ['feedback_loop', 'telemetry_intent'],
]);

const ARROWS = /<?[-=]+>|[→↔⇒⇔⟶⟷]/g;
/** Trailing remark of a name: `Telemetry → Intent (Feedback Loop)`. */
const TRAILING_REMARKS = /(?<=[^_])(_?\([^()]*\))+$/;

/** Limits of the cache. A log repeats a few spellings; normalizing each again would take half the time of a fold. */
const SPELLINGS_MAX = 256;
const SPELLING_LENGTH_MAX = 256;
const canonicalBySpelling = new Map<string, string>();

/**
 * Canonical id of an edge, `source_target`. Arrows, spaces, hyphens, case, remarks in brackets and file names are
 * normalized, also in names of unknown edges.
 */
export function canonicalEdge(name: string): string {
  const cached = canonicalBySpelling.get(name);
  if (cached !== undefined) return cached;
  const canonical = computeCanonicalEdge(name);
  if (canonicalBySpelling.size >= SPELLINGS_MAX) canonicalBySpelling.clear();
  if (name.length <= SPELLING_LENGTH_MAX) canonicalBySpelling.set(name, canonical);
  return canonical;
}

function computeCanonicalEdge(name: string): string {
  const normalized = name
    .trim()
    .toLowerCase()
    .replace(ARROWS, '_')
    .replace(/[\s_-]+/g, '_')
    .replace(TRAILING_REMARKS, '')
    .replace(/(?<![a-z0-9])ci[_/]cd(?![a-z0-9])/g, 'cicd');
  return FILE_ALIASES.get(normalized) ?? normalized;
}

export const edgeSubject = (featureId: string, edge: string): string => `${featureId}#${canonicalEdge(edge)}`;
