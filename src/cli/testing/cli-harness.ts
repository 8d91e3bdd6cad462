import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { type RunningServer, startServer } from '../../server/server.js';
import { openMemoryStore } from '../../stores/memory/memory-store.js';
import { runGen, type TerminalOptions } from './terminal.js';

export const PLAN = `project: shop
tracks:
  A:
    - id: A-001-schema
      description: Design the schema
    - id: A-002-index
      description: Build the index
      subtasks: 2
  B:
    - id: B-001-api
      description: The API
      depends_on: [A-001-schema]
`;

export interface CliHarness {
  readonly terminal: TerminalOptions & { readonly env: Record<'GENESIS_URL' | 'GENESIS_AGENT', string> };
  readonly server: RunningServer;
}

/** A folder with a plan file, and a server on a memory store. */
export async function startHarness(): Promise<CliHarness> {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'plan.yaml'), PLAN);
  const server = await startServer({
    store: openMemoryStore(),
    port: 0,
    limits: { min_lease_duration_seconds: 1 },
  });
  onTestFinished(() => server.stop());
  return { terminal: { cwd, env: { GENESIS_URL: server.url, GENESIS_AGENT: 'agent-a' } }, server };
}

/** A harness whose server has the plan of the file. */
export async function startPlannedHarness(): Promise<CliHarness> {
  const harness = await startHarness();
  const { code, err } = await runGen(harness.terminal, 'plan', 'import', 'plan.yaml');
  if (code !== 0) throw new Error(err);
  return harness;
}
