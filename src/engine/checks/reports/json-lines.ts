import { z } from 'zod';
import { type ReportParser, testCounts } from './report-counts.js';

const goEvent = z.object({
  Action: z.string(),
  Package: z.string().default(''),
  Test: z.string().exactOptional(),
});
const count = z.int().min(0).default(0);
const cargoEvent = z.object({
  type: z.string(),
  event: z.string(),
  ...{ passed: count, failed: count, ignored: count },
});

/** Yields the lines that are JSON objects. All other lines are output of the tests. */
function* jsonLineEvents<T>(text: string, schema: z.ZodType<T>): Generator<T> {
  for (const line of text.split('\n')) {
    if (line.startsWith('{')) yield schema.parse(JSON.parse(line));
  }
}

/** Before Go 1.24, a package that cannot be built has this line only, which is not JSON. */
const UNBUILT_PACKAGE = /^FAIL\t\S+ \[(?:build|setup) failed\]$/gm;

/** go test -json. A package that fails without a failed test, because it cannot be built, is a failure. */
export const parseGo: ReportParser = (text) => {
  const unbuiltPackages = text.match(UNBUILT_PACKAGE)?.length ?? 0;
  const counts: Record<string, number> = { pass: 0, fail: unbuiltPackages, skip: 0 };
  const packagesWithFailedTests = new Set<string>();
  let endedPackages = unbuiltPackages;
  for (const { Action, Package, Test } of jsonLineEvents(text, goEvent)) {
    if (Test === undefined) {
      if (Action === 'fail' && !packagesWithFailedTests.has(Package)) counts.fail = (counts.fail ?? 0) + 1;
      if (Object.hasOwn(counts, Action)) endedPackages += 1;
    } else if (Object.hasOwn(counts, Action)) {
      counts[Action] = (counts[Action] ?? 0) + 1;
      if (Action === 'fail') packagesWithFailedTests.add(Package);
    }
  }
  if (endedPackages === 0) throw new Error('it has no package that ended');
  return testCounts(counts.pass ?? 0, counts.fail ?? 0, counts.skip ?? 0);
};

/** cargo test -- -Z unstable-options --format json. A suite that started and did not end is a failure. */
export const parseCargo: ReportParser = (text) => {
  let [startedSuites, endedSuites, passed, failed, skipped] = [0, 0, 0, 0, 0];
  for (const event of jsonLineEvents(text, cargoEvent)) {
    if (event.type !== 'suite') continue;
    if (event.event === 'started') startedSuites += 1;
    else {
      endedSuites += 1;
      passed += event.passed;
      failed += event.failed;
      skipped += event.ignored;
    }
  }
  if (startedSuites === 0) throw new Error('it has no suite');
  return testCounts(passed, failed + Math.max(0, startedSuites - endedSuites), skipped);
};
