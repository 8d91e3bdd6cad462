import { importForeign } from '../../src/coordinator/transfer/import-foreign.js';
import { commitImported } from '../../src/coordinator/transfer/imported-events.js';
import type { Store } from '../../src/stores/store.js';
import { CoordinatorHarness, PROJECT_KEY, type TestStoreName, unwrap } from './coordinator-harness.js';

export const F = 'REQ-F-AUTH-001';

/** A line of another tool's log about an edge. */
export const foreignLine = (event_type: string, edge: string, feature = F): string =>
  JSON.stringify({ event_type, timestamp: '2025-12-01T10:00:00Z', project: 'old', feature, edge });

export async function importLines(store: Store, lines: readonly string[], source = 'old.jsonl') {
  async function* bytes() {
    yield Buffer.from(lines.join('\n'));
  }
  const target = {
    put: async (events: Parameters<typeof commitImported>[2]) =>
      unwrap(await commitImported(store, PROJECT_KEY, events)),
    putBlob: async () => {},
  };
  const options = { ...PROJECT_KEY, source, now_ms: Date.parse('2026-01-01'), known_edges: null };
  unwrap(await importForeign(bytes(), target, options));
}

/** The configuration of a project with one feature, whose profile has two edges. */
export const PROJECT_FILES = {
  [`features/active/${F}.yml`]: `feature: ${F}\ntitle: Sign in\nprofile: minimal\n`,
  'profiles/minimal.yml': 'graph: { include: [intent→requirements, design→code] }\n',
  '../specification/INTENT.md': '# Sign in\n\nPeople sign in.\n',
  'context/project_constraints.yml':
    'constraint_dimensions: { ecosystem_compatibility: a, deployment_target: b, security_model: c, build_system: d }\n',
};

/** A project with this configuration, into which lines of another tool's log are imported. */
export async function openImported(
  lines: readonly string[],
  store: TestStoreName = 'memory',
): Promise<CoordinatorHarness> {
  const harness = await CoordinatorHarness.open(store);
  unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files: PROJECT_FILES }));
  await importLines(harness.store, lines);
  return harness;
}
