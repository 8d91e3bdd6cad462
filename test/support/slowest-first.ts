import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that start first, because a slow file that starts last delays the end of the whole run. */
const SLOWEST = [
  'sim/sim.test.ts',
  'test/databases/methodology.test.ts',
  'test/step-functions/runs.test.ts',
  'src/stores/dynamodb/dynamodb-store.conformance.test.ts',
  'src/cli/fleet.test.ts',
  'test/security/access-log.test.ts',
  'src/cli/mcp.test.ts',
  'src/engine/runs/execute-run.test.ts',
  'src/cli/run-edges.test.ts',
  'sim/inbox/inbox.test.ts',
  'sim/search/search.test.ts',
  'test/demo.test.ts',
  'src/stores/file/file-store.conformance.test.ts',
];

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = SLOWEST.findIndex((path) => moduleId.endsWith(`/${path}`));
      return at === -1 ? SLOWEST.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
