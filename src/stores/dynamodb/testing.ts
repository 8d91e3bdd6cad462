import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isWanted, type MissingEngine, NOT_WANTED, type TestEngine } from '../testing/engine.js';
import { newPlace, type ServerPlan, ServerProcess } from '../testing/server-process.js';

const BINARY = fileURLToPath(new URL('../../../node_modules/@dynoxide/linux-x64/dynoxide', import.meta.url));

const DYNOXIDE: ServerPlan = {
  name: 'dynoxide',
  command: ({ port, folder }) => ({
    program: BINARY,
    args: ['serve', '--host', '127.0.0.1', '-p', String(port), '--db-path', join(folder, 'data.db')],
  }),
  answers: (port) =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    ),
};

/** DynamoDB by its URL variable, else the compatible server that comes with npm. */
export async function startDynamodb(): Promise<TestEngine | MissingEngine> {
  if (!isWanted('dynamodb')) return NOT_WANTED;
  const given = process.env.GENESIS_TEST_DYNAMODB;
  if (given !== undefined) return { url: given, stop: async () => {} };
  if (!existsSync(BINARY)) return { missing: '@dynoxide/linux-x64 is not installed' };
  const { place, restart, freeze, thaw, stop } = await ServerProcess.start(
    DYNOXIDE,
    await newPlace('dynamodb'),
  );
  const url = `dynamodb://eu-west-1/genesis_fleet?endpoint=http://127.0.0.1:${place.port}`;
  return { url, restart, freeze, thaw, stop };
}
