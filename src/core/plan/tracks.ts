/** Tracks with a conventional meaning. A plan may use any other letters too. */
export const CONVENTIONAL_TRACKS = new Map([
  ['A', { purpose: 'Core Architecture', typical_work: 'Foundation, framework, core modules' }],
  ['B', { purpose: 'Data Layer', typical_work: 'Database, storage, caching' }],
  ['C', { purpose: 'API Layer', typical_work: 'Endpoints, contracts, validation' }],
  ['D', { purpose: 'Frontend', typical_work: 'UI components, client logic' }],
  ['E', { purpose: 'Infrastructure', typical_work: 'Deployment, CI/CD, monitoring' }],
  ['F', { purpose: 'Testing', typical_work: 'Test suites, coverage, QA' }],
  ['G', { purpose: 'Documentation', typical_work: 'Specs, guides, API docs' }],
  ['X', { purpose: 'Experimental', typical_work: 'Spikes, prototypes, POCs' }],
  ['Z', { purpose: 'Maintenance', typical_work: 'Bug fixes, tech debt, refactoring' }],
]);

/** The conventional purpose of a track; null if the track has none. */
export const trackPurpose = (track: string): string | null => CONVENTIONAL_TRACKS.get(track)?.purpose ?? null;

/** The purpose and the typical work of a track, as text; null if it has no conventional meaning. */
export function trackMeaning(track: string): string | null {
  const convention = CONVENTIONAL_TRACKS.get(track);
  return convention === undefined ? null : `${convention.purpose}: ${convention.typical_work}`;
}
