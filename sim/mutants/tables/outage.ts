import type { Mutant } from '../mutant.js';

const BACKOFF_TESTS = ['src/coordinator/queue/backoff.test.ts'];
const DISK_TESTS = ['test/security/full-disk.test.ts'];
const FOLDER_BLOBS = 'src/stores/file/folder-blobs.ts';

/** Faults in the behaviour during a database outage or on a disk that accepts no writes. */
export const OUTAGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'gone-store-polled',
    file: 'src/coordinator/background/commit-poller.ts',
    find: 'if (backoff.isPausing) return;',
    replace: 'if (projects.length === 0) return;',
    harm: 'During an outage every coordinator queries the database four times a second for every project.',
    tests: BACKOFF_TESTS,
  },
  {
    name: 'gone-store-asked-for-all',
    file: 'src/coordinator/background/commit-poller.ts',
    find: 'backoff.isFailing ? projects.slice(0, 1) : projects',
    replace: 'projects.length < 0 ? projects.slice(0, 1) : projects',
    harm: 'The cost of an outage grows with the number of projects.',
    tests: BACKOFF_TESTS,
  },
  {
    name: 'backoff-without-bound',
    file: 'src/coordinator/queue/backoff.ts',
    find: 'DOUBLINGS_MAX), PAUSE_MS_MAX)',
    replace: 'DOUBLINGS_MAX), 10 * PAUSE_MS_MAX)',
    harm: 'A database that is available again is not queried for a long time.',
    tests: BACKOFF_TESTS,
  },
  {
    name: 'readiness-by-own-clock',
    file: 'src/server/readiness.ts',
    find: 'await store.project({ tenant_id: PLATFORM_TENANT, project_id: TENANT_PROJECT });',
    replace: '',
    harm: 'A store with its own clock reports ready although its database is unavailable.',
    tests: ['src/server/readiness.test.ts'],
  },
  {
    name: 'blob-left-half-written',
    file: FOLDER_BLOBS,
    find: 'await this.disk.unlink(temporaryPath);',
    replace: 'await Promise.resolve();',
    harm: 'Each failed write uses more space on a full disk.',
    tests: DISK_TESTS,
  },
  {
    name: 'full-disk-thrown-as-a-bug',
    file: FOLDER_BLOBS,
    find: 'if (code === undefined) throw error;',
    replace: "if (code !== 'NONE') throw error;",
    harm: 'A full disk returns 500 instead of a retryable error.',
    tests: DISK_TESTS,
  },
  {
    name: 'blob-name-believed-durable',
    file: FOLDER_BLOBS,
    find: 'return this.disk.syncFolder(folder);',
    replace: 'return;',
    harm: 'A blob that was stored twice and acknowledged is lost in a power failure.',
    tests: DISK_TESTS,
  },
  {
    name: 'frontier-rebuilt-at-once',
    file: 'src/coordinator/queue/project.ts',
    find: 'runInSlices(\n      this.state.frontier.rebuildInSlices(this.state),\n      this.environment,\n    )',
    replace: 'Promise.resolve([...this.state.frontier.rebuildInSlices(this.state)].forEach(() => {}))',
    harm: 'The first `next` after a change of a large plan delays every renewal.',
    tests: ['test/security/large-documents.test.ts'],
  },
  {
    name: 'rebuild-forgets-what-moved',
    file: 'src/core/views/frontier.ts',
    find: 'this.#movedDuringRebuild?.add(subject);',
    replace: '',
    harm: 'Work that is freed while the plan is scanned is never offered.',
    tests: ['src/core/views/frontier.test.ts'],
  },
];
