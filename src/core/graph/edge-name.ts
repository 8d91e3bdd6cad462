/** One canonical id per edge, `source_target`: arrows, spaces, hyphens and case all mean it. */
export function canonicalEdge(name: string): string {
  return name
    .trim()
    .replace(/\s*(<->|->|↔|→)\s*/g, '_')
    .replace(/[\s-]+/g, '_')
    .toLowerCase();
}

export const edgeSubject = (feature_id: string, edge: string): string =>
  `${feature_id}#${canonicalEdge(edge)}`;
