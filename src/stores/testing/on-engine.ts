import { describe, it } from 'vitest';
import { isSelected, type MissingEngine, type TestEngine } from './engine.js';
import { NOT_RUN } from './not-run.js';

/**
 * Registers tests against a real database. If it is missing, they are skipped with the reason in the closing summary, or
 * fail under `ENGINES=all`. `STORES=file,postgres` limits the stores.
 */
export const onEngine = <Engine extends TestEngine>(...engine: EngineTests<Engine>): Promise<void> =>
  onStarted(skipMissing, ...engine);

/** The same for a stand-in that package managers do not have: without it the tests are skipped, whatever `ENGINES` says. */
export const onStandIn = <Engine extends TestEngine>(...standIn: EngineTests<Engine>): Promise<void> =>
  onStarted(skipGroup, ...standIn);

type EngineTests<Engine> = readonly [
  name: string,
  start: () => Promise<Engine | MissingEngine>,
  tests: (engine: Engine) => void | Promise<void>,
];

async function onStarted<Engine extends TestEngine>(
  skip: (name: string, reason: string) => void,
  ...[name, start, tests]: EngineTests<Engine>
): Promise<void> {
  if (!isSelected(name)) return skipGroup(name, 'not in STORES');
  const engine = await start();
  if ('missing' in engine) skip(name, engine.missing);
  else await tests(engine);
}

/** Registers tests that kill, freeze or configure the database, which requires an exclusive one. */
export function onOwnEngine(
  name: string,
  engine: TestEngine,
  tests: (engine: Required<TestEngine>) => void,
): void {
  if (engine.restart !== undefined) tests(engine as Required<TestEngine>);
  else skipGroup(name, `GENESIS_TEST_${name.toUpperCase()} is a shared engine, which tests do not restart`);
}

/** Registers tests that need a program of this machine: a browser, promtool, Python. `missing` is null if it is installed. */
export function onProgram(
  name: string,
  missing: string | null,
  tests: () => void | Promise<void>,
): void | Promise<void> {
  if (missing === null) return tests();
  skipMissing(name, missing);
}

/** With ENGINES=all, as in CI, a test that cannot run fails instead of being skipped. */
function skipMissing(name: string, reason: string): void {
  if (process.env.ENGINES !== 'all') skipGroup(name, reason);
  else {
    it(`needs ${name}`, () => {
      throw new Error(`ENGINES=all requires ${name}: ${reason}.`);
    });
  }
}

/** Skips tests that do not apply here, whatever is installed. */
export function skipGroup(name: string, reason: string): void {
  describe.skip(`${NOT_RUN}${name}`, () => it(reason, () => {}));
}
