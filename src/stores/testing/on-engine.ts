import { describe, it } from 'vitest';
import { isWanted, type MissingEngine, type TestEngine } from './engine.js';
import { NOT_RUN } from './not-run.js';

/**
 * Tests against a real engine. One that cannot be had here is named at the end of the run, and where it is demanded
 * (`ENGINES=all`) it is a failure. `STORES=file,postgres` narrows.
 */
export async function onEngine(
  name: string,
  start: () => Promise<TestEngine | MissingEngine>,
  tests: (engine: TestEngine) => void | Promise<void>,
): Promise<void> {
  if (!isWanted(name)) {
    describe.skip(name, () => it('was not asked for', () => {}));
    return;
  }
  const engine = await start();
  if (!('missing' in engine)) return tests(engine);
  const sentence = `${engine.missing}. Run: npm run engines:install`;
  if (process.env.ENGINES === 'all') throw new Error(`${name} is demanded, and not here: ${sentence}`);
  describe.skip(`${NOT_RUN}${name}`, () => it(sentence, () => {}));
}
