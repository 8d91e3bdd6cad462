import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isSelected, type MissingDatabase, NOT_SELECTED, type TestDatabase } from '../testing/database.js';
import { findInstalledProgram } from '../testing/program.js';
import { newServerLocation, ServerProcess, type ServerSpec } from '../testing/server-process.js';
import { type DynamodbOptions, parseDynamodbUrl } from './options.js';

const PACKAGE = '../../../test/support/dynamodb-engine/node_modules/@dynoxide/linux-x64';
const BINARY = fileURLToPath(new URL(`${PACKAGE}/dynoxide`, import.meta.url));

const dynoxideServer = ([program, ...prefix]: readonly [string, ...string[]]): ServerSpec => ({
  name: 'dynoxide',
  command: ({ port, folder }) => ({
    program,
    args: [
      ...prefix,
      'serve',
      '--host',
      '127.0.0.1',
      '-p',
      String(port),
      '--db-path',
      join(folder, 'data.db'),
    ],
  }),
  isReady: (port) =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    ),
});

/** Uses the DynamoDB that `GENESIS_TEST_DYNAMODB` names, or else the compatible server from `npm run engines:install`. */
export async function startDynamodb(): Promise<TestDatabase | MissingDatabase> {
  if (!isSelected('dynamodb')) return NOT_SELECTED;
  const configuredUrl = process.env.GENESIS_TEST_DYNAMODB;
  if (configuredUrl !== undefined) return { url: configuredUrl, stop: async () => {} };
  const command = findCommand();
  if ('missing' in command) return command;
  const { location, restart, halt, boot, freeze, thaw, stop } = await ServerProcess.start(
    dynoxideServer(command),
    await newServerLocation('dynamodb'),
  );
  const url = `dynamodb://eu-west-1/genesis_fleet?endpoint=http://127.0.0.1:${location.port}`;
  return { url, restart, halt, boot, freeze, thaw, stop };
}

/**
 * The binary is for Linux on x64 and must not be started elsewhere: a system that cannot execute a file passes it to
 * `sh`, which runs whatever commands its bytes happen to spell.
 */
function findCommand(): readonly [string, ...string[]] | MissingDatabase {
  if (process.platform !== 'linux') return { missing: `dynoxide has no binary for ${process.platform}` };
  if (!existsSync(BINARY)) return { missing: 'dynoxide is not installed (npm run engines:install)' };
  if (process.arch === 'x64') return [BINARY];
  const emulator = findInstalledProgram('qemu-x86_64', 'qemu-x86_64-static');
  if (emulator !== null) return [emulator, BINARY];
  return {
    missing: `dynoxide is built for x64, and qemu-x86_64 is not installed (npm run engines:install)`,
  };
}

/** Timeouts long enough for any slow machine: the store gives up only on a hanging server. */
export const optionsWithLongTimeouts = (url: string): DynamodbOptions => ({
  ...parseDynamodbUrl(url),
  reply_ms: 600_000,
  patience_ms: 600_000,
  contention_ms: 600_000,
});
